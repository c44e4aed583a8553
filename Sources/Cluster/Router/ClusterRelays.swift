import CarillonRouter
import Core
import Foundation
import Nostr
import Relays
import Synchronization

/// The relays of a cluster, each held by one member: the one that owns the partition in which the relay's URL is. So a
/// relay moves with its partition, and how far it was read is in that partition's log.
final class ClusterRelays: SharedRelays {
    private struct State {
        var relays: Relays?
        weak var member: ClusterMember?
        /// Partitions whose relays this member must read, and the subset that it already reads.
        var wanted: Set<Int> = []
        var held: Set<Int> = []
        var subscriptions: [Int: NATSClient.Subscription] = [:]
        var findings: NATSClient.Subscription?
        /// Fetches in progress for other members.
        var fetches = 0
    }

    /// How long other members may take beyond the time given in the request.
    private static let slack: Duration = .milliseconds(500)
    private static let findingBytes = 256 << 10

    private let link: ClusterLink
    private let partitions: PartitionIntakes
    /// Tells findings of this process from others'.
    private let name = UInt64.random(in: .min ... .max)
    private let state = Mutex(State())
    /// Serializes changes of the held partitions.
    private let holding = Mutex(())

    init(_ link: ClusterLink, partitions: PartitionIntakes) {
        self.link = link
        self.partitions = partitions
    }

    private var line: MemberLine { link.line }

    /// Tells the account watch what to read here, and receives its progress.
    var sharing: RelaySharing {
        RelaySharing(
            part: { [partitioning = link.partitioning] in partitioning.partition(of: $0) },
            marked: { [weak self] partition, marks in
                let marks = marks.map { RelayMark(relay: $0.key.text, moment: $0.value) }
                self?.state.withLock(\.member)?.note(marks, in: partition)
            }
        )
    }

    /// Nil: no relays are held now.
    func serve(_ relays: Relays?) { state.withLock { $0.relays = relays } }

    /// Marks go to the logs of this member from now on.
    func begin(for member: ClusterMember) {
        let findings = try? line.subscribe(link.settings.layout.findings) { [weak self] content, _ in
            self?.learn(content)
        }
        state.withLock { ($0.member, $0.findings) = (member, findings) }
    }

    func isHere(_ relay: RelayURL) -> Bool {
        let partition = link.partitioning.partition(of: relay)
        return state.withLock { $0.held.contains(partition) }
    }

    // MARK: Held partitions

    /// This member owns a partition, whose relays another member may have read so far.
    func take(_ partition: Int, _ marks: [String: Int64]) {
        let relays = state.withLock { state in
            state.wanted.insert(partition)
            return state.relays
        }
        let known = marks.compactMap { text, mark in RelayURL(text).map { ($0, mark) } }
        relays?.watch.take(partition, marks: Dictionary(known) { $1 }) { [weak self] in self?.hold(partition) }
    }

    private func hold(_ partition: Int) {
        holding.withLock { _ in
            let relays = state.withLock { state -> Relays? in
                guard state.wanted.contains(partition) else { return nil }
                state.held.insert(partition)
                return state.relays
            }
            guard let relays else { return }
            relays.hold()
            let subscription = try? line.subscribe(link.settings.layout.fetch(partition)) { [weak self] in
                self?.fetch($0, replyTo: $1)
            }
            state.withLock { if $0.held.contains(partition) { $0.subscriptions[partition] = subscription } }
        }
    }

    /// Returns when nothing more is read for a partition, and how far its relays were read is on its way to the log.
    func leave(_ partition: Int) async {
        await withCheckedContinuation { continuation in leave(partition) { continuation.resume() } }
    }

    func leave(_ partition: Int, then completion: @escaping @Sendable () -> Void = {}) {
        let relays = holding.withLock { _ in
            let relays = state.withLock { state in
                state.wanted.remove(partition)
                state.held.remove(partition)
                state.subscriptions[partition] = nil
                return state.relays
            }
            relays?.hold()
            return relays
        }
        guard let relays else { return completion() }
        relays.watch.leave(partition, then: completion)
    }
}

// MARK: Asking where a relay is held

extension ClusterRelays {
    /// A request to the member that holds relays.
    private struct Question: Codable {
        /// Empty: the operator's.
        var relays: [String]
        /// A REQ (NIP-01) with the filters.
        var request: String
        var milliseconds: Int64
    }

    /// Relays held by other members count as connected: a request soon shows if they are not.
    func isConnected(besidesOperators: Bool) -> Bool {
        guard let relays = state.withLock(\.relays) else { return false }
        return relays.pool.isConnected(besidesOperators: besidesOperators) || !relays.operators.allSatisfy(isHere)
    }

    func connected(among relays: [RelayURL]) -> [RelayURL] {
        let (here, elsewhere) = (relays.filter(isHere), relays.filter { !isHere($0) })
        return (state.withLock(\.relays)?.pool.connected(among: here) ?? []) + elsewhere
    }

    func fetch(
        _ filters: [Filter],
        from asked: [RelayURL],
        within time: Duration,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        guard let relays = state.withLock(\.relays) else { return completion(false) }
        let asked = asked.isEmpty ? relays.operators : asked
        let byPartition = Dictionary(grouping: asked) { link.partitioning.partition(of: $0) }
        let join = FetchJoin(byPartition.count, completion: completion)
        for (partition, asked) in byPartition {
            let isHere = state.withLock { $0.held.contains(partition) }
            if isHere {
                let connected = relays.pool.connected(among: asked)
                // From none it would ask all.
                if connected.isEmpty {
                    join.end(isAnswered: false)
                } else {
                    relays.pool.fetch(filters, from: connected, within: time) { join.end(isAnswered: $0) }
                }
            } else {
                ask(partition, for: filters, from: asked, within: time) { join.end(isAnswered: $0) }
            }
        }
    }

    private func ask(
        _ partition: Int,
        for filters: [Filter],
        from relays: [RelayURL],
        within time: Duration,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        guard let id = SubscriptionID("fetch") else { return completion(false) }
        let question = Question(
            relays: relays.map(\.text),
            request: String(decoding: ClientCommand.request(id, filters).json, as: UTF8.self),
            milliseconds: time.milliseconds
        )
        guard let body = try? JSONEncoder().encode(question) else { return completion(false) }
        let subject = link.settings.layout.fetch(partition)
        line.request(subject, Array(body), within: time + Self.slack) { result in
            completion((try? result.get()) == [1])
        }
    }

    /// Another member asks for what relays have that are held here.
    private func fetch(_ content: [UInt8], replyTo: String?) {
        guard let replyTo, let relays = state.withLock(\.relays),
            let question = try? JSONDecoder().decode(Question.self, from: Data(content)),
            case .request(_, let filters)? = try? Array(question.request.utf8).withUnsafeBytes({ bytes in
                try ClientMessage(bytes)
            })
        else { return }
        let asked = question.relays.prefix(256).compactMap { RelayURL($0) }.filter(isHere)
        let connected = relays.pool.connected(among: asked)
        let answer: @Sendable (Bool) -> Void = { [line] isAnswered in
            // A member that misses it waits only as long as its own timeout.
            try? line.publish(replyTo, [isAnswered ? 1 : 0])
        }
        guard !connected.isEmpty else { return answer(false) }
        state.withLock { $0.fetches += 1 }
        let time = Duration.milliseconds(max(1, min(question.milliseconds, 60_000)))
        relays.pool.fetch(filters, from: connected, within: time) { [weak self] isAnswered in
            answer(isAnswered)
            self?.state.withLock { $0.fetches -= 1 }
        }
    }

    /// Partitions of this member or of others may have asked for them.
    func found(_ events: [[UInt8]]) {
        partitions.learn(events)
        guard state.withLock({ $0.fetches > 0 }) else { return }
        var portion: [[UInt8]] = []
        for event in events {
            portion.append(event)
            if portion.reduce(0, { $0 + $1.count }) > Self.findingBytes { publish(&portion) }
        }
        publish(&portion)
    }

    private func publish(_ events: inout [[UInt8]]) {
        guard !events.isEmpty else { return }
        let batch = HandOverBatch(HandOverBatch.ID(sender: name, number: 0), events)
        // A member that misses it does without it.
        try? line.publish(link.settings.layout.findings, batch.bytes)
        events = []
    }

    /// Takes a result that another member found.
    private func learn(_ content: [UInt8]) {
        guard let batch = try? HandOverBatch(content), batch.id.sender != name else { return }
        partitions.learn(batch.items)
    }
}

extension Partitioning {
    /// The partition whose owner holds a relay.
    func partition(of relay: RelayURL) -> Int { partition(of: Array(relay.text.utf8)) }
}
