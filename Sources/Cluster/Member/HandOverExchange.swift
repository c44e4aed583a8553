import Logging
import NATS
import Synchronization
import Units

/// Hands events over to the owners of partitions, and takes them in for the partitions that this member owns: the shell
/// around ``HandOverQueue`` and ``HandOverReceiver``.
///
/// An owner answers only when its log has what events lead to. Whoever opens a partition tells all members, so that
/// these do not wait for an answer of its former owner.
final class HandOverExchange: Sendable {
    /// How long an owner may take to answer. What it does not answer comes again.
    private static let patience: Duration = .seconds(3)

    /// What this member has of a partition.
    struct Ownership {
        /// The last transaction that was committed.
        let lastCommit: UInt64
        /// Nobody else can have the partition now.
        let hasLease: Bool
    }

    private struct State {
        var queues: [HandOverQueue]
        var kept: [UInt64: @Sendable () -> Void] = [:]
        var lastToken: UInt64 = 0
        var receivers: [Int: HandOverReceiver<String>] = [:]
        var subscriptions: [Int: NATSClient.Subscription] = [:]
        var news: NATSClient.Subscription?
        /// The last transaction that was committed to a partition, and whether its lease is valid; nil: it is not open.
        var ownership: @Sendable (Int) -> Ownership? = { _ in nil }
        var hasEnded = false
    }

    private let line: MemberLine
    private let layout: ClusterLayout
    private let work: any PartitionWork
    private let log: Logger
    private let now: @Sendable () -> Deadline
    private let state: Mutex<State>

    /// `sender`: the member's incarnation.
    init(
        _ line: MemberLine,
        _ settings: ClusterMember.Settings,
        sender: UInt64,
        work: any PartitionWork,
        log: Logger,
        now: @escaping @Sendable () -> Deadline
    ) {
        (self.line, layout, self.work, self.log, self.now) = (line, settings.layout, work, log, now)
        let queues = (0..<settings.partitions).map { _ in HandOverQueue(sender: sender, limits: settings.handOver) }
        state = Mutex(State(queues: queues))
    }

    /// Listens for partitions that are opened anywhere. `ownership` is nil for one that is not open here.
    func start(ownership: @escaping @Sendable (Int) -> Ownership?) {
        let news = try? line.subscribe(layout.openedPartitions) { [weak self] content, _ in
            guard let partition = Int(String(decoding: content.prefix(8), as: UTF8.self)) else { return }
            self?.openedSomewhere(partition)
        }
        state.withLock { ($0.news, $0.ownership) = (news, ownership) }
    }

    /// Takes nothing more. What is handed over goes on being asked for as long as somebody calls ``tick()``.
    func end() {
        state.withLock { state in
            state.hasEnded = true
            (state.subscriptions, state.news) = ([:], nil)
        }
    }

    // MARK: Handing over

    /// Whether whoever reads events for a partition should wait.
    func isFull(_ partition: Int) -> Bool { state.withLock { $0.queues[partition].isFull } }

    /// Whether whoever reads events should wait: some owner has too many before it.
    var isFull: Bool { state.withLock { $0.queues.contains(where: \.isFull) } }

    /// Calls `kept` once when everything that the event leads to is kept.
    func handOver(_ item: [UInt8], to partition: Int, kept: @escaping @Sendable () -> Void) {
        let actions = state.withLock { state in
            state.lastToken += 1
            state.kept[state.lastToken] = kept
            return state.queues[partition].add(item, token: state.lastToken)
        }
        carry(actions, partition)
    }

    func tick() {
        let now = now()
        let due = state.withLock { state in
            state.queues.indices.map { ($0, state.queues[$0].tick(now: now)) }
        }
        for (partition, actions) in due { carry(actions, partition) }
    }

    private func openedSomewhere(_ partition: Int) {
        let now = now()
        let actions = state.withLock { state -> [HandOverQueue.Action] in
            guard state.queues.indices.contains(partition) else { return [] }
            return state.queues[partition].ownerChanged(now: now)
        }
        carry(actions, partition)
    }

    private func carry(_ actions: [HandOverQueue.Action], _ partition: Int) {
        for action in actions {
            switch action {
            case .send(let batch):
                line.request(layout.handOver(partition), batch.bytes, within: Self.patience) { [weak self] result in
                    let answer = (try? result.get()).flatMap(HandOverAnswer.init)
                    let ended: HandOverQueue.Result =
                        switch answer {
                        case .kept: .kept
                        case .later: .later
                        case nil: .unanswered
                        }
                    self?.ended(batch.id.number, ended, partition)
                }
            case .kept(let tokens):
                let callbacks = state.withLock { state in tokens.compactMap { state.kept.removeValue(forKey: $0) } }
                for callback in callbacks { callback() }
            }
        }
    }

    private func ended(_ number: UInt64, _ result: HandOverQueue.Result, _ partition: Int) {
        let now = now()
        carry(state.withLock { $0.queues[partition].ended(number, result, now: now) }, partition)
    }

    // MARK: Taking

    /// Before the partition's work begins: the batches that come for it are those of this ownership.
    func prepare(_ partition: Int) { state.withLock { $0.receivers[partition] = HandOverReceiver() } }

    /// Takes what members hand over for a partition, and tells them that it does.
    func open(_ partition: Int) {
        do throws(NATSError) {
            let subscription = try line.subscribe(layout.handOver(partition)) { [weak self] in
                self?.receive($0, replyTo: $1, partition)
            }
            let isWanted = state.withLock { state in
                guard !state.hasEnded else { return false }
                state.subscriptions[partition] = subscription
                return true
            }
            // Whoever misses it asks again by itself, only later.
            if isWanted { try line.publish(layout.openedPartitions, Array("\(partition)".utf8)) }
        } catch {
            log.error("A partition takes no events", metadata: ["partition": "\(partition)", "error": "\(error)"])
        }
    }

    /// Takes nothing more for a partition; what is under way is answered.
    func drain(_ partition: Int) { state.withLock { $0.subscriptions[partition] = nil } }

    func close(_ partition: Int) {
        state.withLock { state in
            state.subscriptions[partition] = nil
            state.receivers[partition] = nil
        }
    }

    /// Everything up to this transaction is kept.
    func committed(_ partition: Int, through number: UInt64) {
        answer(.kept, state.withLock { $0.receivers[partition]?.kept(through: number) ?? [] })
    }

    private func receive(_ content: [UInt8], replyTo: String?, _ partition: Int) {
        guard let replyTo else { return }
        guard let batch = try? HandOverBatch(content) else {
            return log.warning("A batch of events is not understood", metadata: ["partition": "\(partition)"])
        }
        let (isNew, isFull) = state.withLock { state -> (Bool, Bool) in
            guard state.receivers[partition]?.hasCapacity(for: batch.id) ?? true else { return (false, true) }
            return (state.receivers[partition]?.receive(batch.id, reply: replyTo) ?? false, false)
        }
        if isFull { answer(.later, [replyTo]) }
        guard isNew else { return }
        work.take(batch.items, in: partition) { [weak self] isTaken in
            self?.worked(batch.id, isTaken: isTaken, partition)
        }
    }

    private func worked(_ id: HandOverBatch.ID, isTaken: Bool, _ partition: Int) {
        guard isTaken else {
            return answer(.later, state.withLock { $0.receivers[partition]?.refused(id) ?? [] })
        }
        // What is known already may be on its way to the log.
        guard let ownership = state.withLock(\.ownership)(partition) else { return }
        let ready = state.withLock {
            $0.receivers[partition]?.worked(id, awaiting: ownership.lastCommit, hasLease: ownership.hasLease)
        }
        if let ready { answer(ready.answer, ready.replies) }
    }

    private func answer(_ answer: HandOverAnswer, _ replies: [String]) {
        // Whoever does not hear it asks again.
        for reply in replies { try? line.publish(reply, answer.bytes) }
    }
}
