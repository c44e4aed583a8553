import Cluster
import Console
import NATS
import Nostr
import Operations
import Synchronization
import Units

/// The other members, as operators' questions reach them: by request and reply over NATS, one subject a member.
final class MemberPeers: Sendable {
    /// Questions that are answered at a time. Members ask for few, and each may take a while.
    private static let mostQuestions = 16

    private struct State {
        var subscription: NATSClient.Subscription?
        var answer: (@Sendable ([UInt8]) async -> [UInt8])?
        var live: NATSClient.Subscription?
        var hear: (@Sendable ([UInt8]) -> Void)?
        var underWay = 0
    }

    private let link: ClusterLink
    private let line: MemberLine
    private let box: MemberBox
    private let state = Mutex(State())

    init(_ link: ClusterLink, _ line: MemberLine, _ box: MemberBox) {
        (self.link, self.line, self.box) = (link, line, box)
    }

    /// What answers the questions of others. Without it they get no answer.
    func answer(with answer: @escaping @Sendable ([UInt8]) async -> [UInt8]) { state.withLock { $0.answer = answer } }

    /// What takes in what others show of themselves.
    func hear(with hear: @escaping @Sendable ([UInt8]) -> Void) { state.withLock { $0.hear = hear } }

    func start() throws(NATSError) {
        let live = try line.subscribe(link.settings.layout.live(to: name)) { [weak self] content, _ in
            self?.state.withLock(\.hear)?(content)
        }
        let subscription = try line.subscribe(link.settings.layout.questions(to: name)) { [weak self] in
            self?.take($0, replyTo: $1)
        }
        state.withLock { ($0.subscription, $0.live) = (subscription, live) }
    }

    func stop() {
        state.withLock { state in
            state.subscription?.end()
            state.live?.end()
            (state.subscription, state.answer, state.live, state.hear) = (nil, nil, nil, nil)
        }
    }

    private func take(_ question: [UInt8], replyTo: String?) {
        guard let replyTo else { return }
        let answer = state.withLock { state -> (@Sendable ([UInt8]) async -> [UInt8])? in
            guard let answer = state.answer, state.underWay < Self.mostQuestions else { return nil }
            state.underWay += 1
            return answer
        }
        // Whoever asked does not wait for ever, and names this member.
        guard let answer else { return }
        Task {
            let bytes = await answer(question)
            state.withLock { $0.underWay -= 1 }
            try? line.publish(replyTo, bytes)
        }
    }
}

extension MemberPeers: ClusterPeers {
    var name: String { link.settings.name.rawValue }

    var others: [String] {
        guard let member = box.member else { return [] }
        let living = member.livingMembers.filter { !$0.isLeaving }
        return (living + member.missingMembers).map(\.name.rawValue).filter { $0 != name }
    }

    func ask(_ question: [UInt8], of member: String, within span: Duration) async -> PeerReply {
        let subject = link.settings.layout.questions(to: member)
        let result = await withCheckedContinuation { continuation in
            line.request(subject, question, within: span) { continuation.resume(returning: $0) }
        }
        switch result {
        case .success(let answer): return .answer(answer)
        case .failure(.noResponders): return .silence(.absent)
        case .failure(.late): return .silence(.late)
        case .failure(let error): return .silence(.unasked("\(error)"))
        }
    }

    func owns(_ account: PublicKey) -> Bool {
        box.member?.openPartitions.contains(link.partitioning.partition(of: account.bytes.array)) ?? false
    }
}

extension MemberPeers: LivePeers {
    func tell(_ bytes: [UInt8], to member: String) {
        // A member that misses it sees that by the next number.
        try? line.publish(link.settings.layout.live(to: member), bytes)
    }
}

extension MemberPeers: ClusterControl {
    func drain(_ isOn: Bool) throws(OperationFailure) {
        guard let member = box.member else { throw .unavailable(Self.leaving) }
        member.drain(isOn)
    }

    func move(_ partition: Int, to name: String?) async throws(OperationFailure) {
        guard let member = box.member else { throw .unavailable(Self.leaving) }
        do throws(NATSError) {
            try await member.move(partition, to: name.flatMap { MemberName($0) })
        } catch {
            throw .unavailable(
                Sentence(
                    "cluster-unkept",
                    ["error": "\(error)"],
                    "the cluster's servers did not keep it: \(error)"
                )
            )
        }
    }

    private static let leaving = Sentence("leaving", [:], "this member is leaving the cluster")
}

extension ClusterStatus.Member {
    /// `configuration`: that of the member that is asked.
    init(_ record: MemberRecord, partitions: Int, isLiving: Bool, configuration: String?) {
        self.init(
            name: record.name.rawValue,
            partitions: partitions,
            isLiving: isLiving,
            isLeaving: record.isLeaving,
            isDrained: record.isDrained ?? false,
            version: record.version,
            wire: record.wire,
            since: record.startedAt.map { Timestamp(seconds: $0) },
            configuration: record.configuration,
            hasSameConfiguration: record.configuration == configuration
        )
    }
}
