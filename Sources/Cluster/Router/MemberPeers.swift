import Console
import Core
import Nostr
import Operations
import RouterConfiguration
import Synchronization

/// Passes operators' requests to the other members: request and reply over NATS, one subject per member.
final class MemberPeers: Sendable {
    /// The maximum of concurrent requests. Members send few, and each may take a while.
    private static let maxQuestions = 16

    private struct State {
        var subscription: NATSClient.Subscription?
        var answer: (@Sendable ([UInt8]) async -> [UInt8])?
        var live: NATSClient.Subscription?
        var hear: (@Sendable ([UInt8]) -> Void)?
        var underWay = 0
    }

    private let link: ClusterLink
    private let box: MemberBox
    private let state = Mutex(State())

    init(_ link: ClusterLink, _ box: MemberBox) { (self.link, self.box) = (link, box) }

    private var line: MemberLine { link.line }

    /// Answers other members' requests with `survey`, and shows their live events in `stream`.
    func answer(by survey: MemberSurvey, _ stream: LiveStream) {
        state.withLock { $0.answer = survey.answer }
        stream.share(with: self)
        state.withLock { $0.hear = { [weak stream] in stream?.receive($0) } }
    }

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
            guard let answer = state.answer, state.underWay < Self.maxQuestions else { return nil }
            state.underWay += 1
            return answer
        }
        // The asking member has a timeout, and then reports this member as missing.
        guard let answer else { return }
        Task {
            let bytes = await answer(question)
            state.withLock { $0.underWay -= 1 }
            try? line.publish(replyTo, bytes)
        }
    }
}

extension MemberPeers: Peers {
    var name: String { link.settings.name.rawValue }

    var others: [String] {
        guard let member = box.member else { return [] }
        let (leases, now) = member.view
        let living = leases.members.living(at: now).filter { !$0.isLeaving }
        return (living + leases.members.missing(at: now)).map(\.name.rawValue).filter { $0 != name }
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

    func tell(_ bytes: [UInt8], to member: String) {
        // A member that misses it notices that by the next message's number.
        try? line.publish(link.settings.layout.live(to: member), bytes)
    }
}
