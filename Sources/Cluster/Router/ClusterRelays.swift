import CarillonRouter
import Core
import Foundation
import Nostr
import Relays
import Synchronization

/// The relays of a cluster. Each is read by one member: the owner of the partition that its URL maps to. So a relay
/// moves with its partition, whose log has the relay's read position.
final class ClusterRelays: SharedRelays {
    private struct State {
        var relays: Relays?
        weak var member: ClusterMember?
        /// The partitions whose relays this member must read, and those that it already reads.
        var wanted: Set<Int> = []
        var held: Set<Int> = []
        var subscriptions: [Int: NATSClient.Subscription] = [:]
        var findings: NATSClient.Subscription?
        /// Fetches in progress for other members.
        var fetches = 0
    }

    /// The extra time for other members' responses, beyond the request's timeout.
    private static let slack: Duration = .milliseconds(500)
    private static let findingBytes = 256 << 10

    private let link: ClusterLink
    private let partitions: PartitionIntakes
    /// Distinguishes this process's results from others'.
    private let name = UInt64.random(in: .min ... .max)
    private let state = Mutex(State())
    /// Serializes changes of the held partitions.
    private let holding = Mutex(())

    init(_ link: ClusterLink, partitions: PartitionIntakes) {
        self.link = link
        self.partitions = partitions
    }

    private var line: MemberLine { link.line }

    /// Tells the account watch which relays to read here, and receives read positions.
    var sharing: RelaySharing {
        RelaySharing(
            part: { [partitioning = link.partitioning] in partitioning.partition(of: $0) },
            marked: { [weak self] partition, marks in
                let marks = marks.map { RelayMark(relay: $0.key.text, moment: $0.value) }
                self?.state.withLock(\.member)?.note(marks, in: partition)
            }
        )
    }

    /// Sets the relays of this router; nil: it reads none from now on.
    func serve(_ relays: Relays?) { state.withLock { $0.relays = relays } }

    /// Stores read positions in the logs of this member from now on.
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

    /// Starts to read a partition's relays from these read positions, which another member may have reached.
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

    /// Stops reading a partition's relays. Returns when their read positions are on the way to the log.
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

// MARK: Fetching from other members' relays

extension ClusterRelays {
    /// A request to the member that reads some relays.
    private struct Question: Codable {
        /// Their URLs; empty: the operator's relays.
        var relays: [String]
        /// A REQ (NIP-01) with the filters.
        var request: String
        var milliseconds: Int64
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
                // An empty list would mean all relays.
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

    /// Fetches stored events for another member from relays that this member reads.
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
            // A member that misses the response waits until its own timeout.
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

    /// Takes fetched events. This member's partitions or other members may have requested them.
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
        // A member that misses the events continues without them.
        try? line.publish(link.settings.layout.findings, batch.bytes)
        events = []
    }

    /// Takes events that another member fetched.
    private func learn(_ content: [UInt8]) {
        guard let batch = try? HandOverBatch(content), batch.id.sender != name else { return }
        partitions.learn(batch.items)
    }
}

extension Partitioning {
    /// The partition whose owner reads a relay.
    func partition(of relay: RelayURL) -> Int { partition(of: Array(relay.text.utf8)) }
}
