import Core
import Logging
import Synchronization

/// Hands events over to the owners of partitions, and accepts events for this member's partitions. It performs the
/// actions of ``HandOverQueue`` and ``HandOverReceiver``.
///
/// An owner responds only when its log has the results of the events. A member that opens a partition notifies all
/// others, so that they do not wait for the former owner.
final class HandOverExchange: Sendable {
    /// The timeout for an owner's response. Unanswered batches are sent again.
    private static let timeout: Duration = .seconds(3)

    /// This member's ownership of a partition.
    struct Ownership {
        /// The number of the last committed transaction.
        let lastCommit: UInt64
        /// Whether no other member can own the partition now.
        let hasLease: Bool
    }

    /// Called when all results of an item are stored, with the owner's note about it.
    typealias Kept = @Sendable (_ note: [UInt8]?) -> Void

    private struct Reply {
        let batch: HandOverBatch.ID
        let subject: String
    }

    private struct State {
        var queues: [HandOverQueue]
        var kept: [UInt64: Kept] = [:]
        var lastToken: UInt64 = 0
        var receivers: [Int: HandOverReceiver<Reply>] = [:]
        /// Notes of batches without a response, by partition.
        var notes: [Int: [HandOverBatch.ID: HandOverNotes]] = [:]
        var subscriptions: [Int: NATSClient.Subscription] = [:]
        var news: NATSClient.Subscription?
        /// This member's ownership of a partition; nil: it is not open here.
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

    /// Subscribes to notices of opened partitions. `ownership` returns nil for a partition that is not open here.
    func start(ownership: @escaping @Sendable (Int) -> Ownership?) {
        let news = try? line.subscribe(layout.openedPartitions) { [weak self] content, _ in
            guard let partition = Int(String(decoding: content.prefix(8), as: UTF8.self)) else { return }
            self?.openedSomewhere(partition)
        }
        state.withLock { ($0.news, $0.ownership) = (news, ownership) }
    }

    /// Stops accepting events. ``tick()`` still requests the responses to events in flight.
    func end() {
        state.withLock { state in
            state.hasEnded = true
            (state.subscriptions, state.news) = ([:], nil)
        }
    }

    // MARK: Sending

    /// Whether sources of events should wait: some owner has too many queued.
    var isFull: Bool { state.withLock { $0.queues.contains(where: \.isFull) } }

    /// Hands an event over to the owner of a partition, which may be this member. Calls `kept` once when all results of
    /// the event are stored, with the owner's note about it. Then the relay's read position may move past the event.
    func handOver(_ item: [UInt8], to partition: Int, kept: @escaping Kept) {
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

    /// `notes` are those of the batch that ended.
    private func carry(_ actions: [HandOverQueue.Action], _ partition: Int, notes: HandOverNotes = [:]) {
        for action in actions {
            switch action {
            case .send(let batch):
                line.request(layout.handOver(partition), batch.bytes, within: Self.timeout) { [weak self] result in
                    let answer = (try? result.get()).flatMap(HandOverAnswer.read)
                    let ended: HandOverQueue.Result =
                        switch answer?.answer {
                        case .kept: .kept
                        case .later: .later
                        case nil: .unanswered
                        }
                    self?.ended(batch.id.number, ended, answer?.notes ?? [:], partition)
                }
            case .kept(let tokens):
                let callbacks = state.withLock { state in tokens.map { state.kept.removeValue(forKey: $0) } }
                for (place, callback) in callbacks.enumerated() { callback?(notes[place]) }
            }
        }
    }

    private func ended(_ number: UInt64, _ result: HandOverQueue.Result, _ notes: HandOverNotes, _ partition: Int) {
        let now = now()
        carry(state.withLock { $0.queues[partition].ended(number, result, now: now) }, partition, notes: notes)
    }

    // MARK: Receiving

    /// Prepares a partition before its work starts: later batches belong to this ownership.
    func prepare(_ partition: Int) {
        state.withLock { state in
            state.receivers[partition] = HandOverReceiver()
            state.notes[partition] = nil
        }
    }

    /// Accepts batches for a partition, and announces that to the other members.
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
            // A member that misses the notice retries after its timeout.
            if isWanted { try line.publish(layout.openedPartitions, Array("\(partition)".utf8)) }
        } catch {
            log.error(
                "Failed to receive events for a partition",
                metadata: ["partition": "\(partition)", "error": "\(error)"]
            )
        }
    }

    /// Accepts no more batches for a partition; those in progress still get a response.
    func drain(_ partition: Int) { state.withLock { $0.subscriptions[partition] = nil } }

    func close(_ partition: Int) {
        state.withLock { state in
            state.subscriptions[partition] = nil
            state.receivers[partition] = nil
            state.notes[partition] = nil
        }
    }

    /// Notes that all transactions up to this one are stored.
    func committed(_ partition: Int, through number: UInt64) {
        answer(.kept, state.withLock { $0.receivers[partition]?.kept(through: number) ?? [] }, partition)
    }

    private func receive(_ content: [UInt8], replyTo: String?, _ partition: Int) {
        guard let subject = replyTo else { return }
        guard let batch = try? HandOverBatch(content) else {
            return log.warning("Ignored an unreadable batch of events", metadata: ["partition": "\(partition)"])
        }
        let reply = Reply(batch: batch.id, subject: subject)
        let (isNew, isFull) = state.withLock { state -> (Bool, Bool) in
            guard state.receivers[partition]?.hasCapacity(for: batch.id) ?? true else { return (false, true) }
            return (state.receivers[partition]?.receive(batch.id, reply: reply) ?? false, false)
        }
        if isFull { answer(.later, [reply], partition) }
        guard isNew else { return }
        work.take(batch.items, in: partition) { [weak self] notes in self?.worked(batch.id, notes, partition) }
    }

    /// `notes`: nil if the sender must send the batch again.
    private func worked(_ id: HandOverBatch.ID, _ notes: HandOverNotes?, _ partition: Int) {
        guard let notes else {
            return answer(.later, state.withLock { $0.receivers[partition]?.refused(id) ?? [] }, partition)
        }
        if !notes.isEmpty { state.withLock { $0.notes[partition, default: [:]][id] = notes } }
        // Even an already known batch waits until its results are in the log.
        guard let ownership = state.withLock(\.ownership)(partition) else { return }
        let ready = state.withLock {
            $0.receivers[partition]?.worked(id, awaiting: ownership.lastCommit, hasLease: ownership.hasLease)
        }
        if let ready { answer(ready.answer, ready.replies, partition) }
    }

    private func answer(_ answer: HandOverAnswer, _ replies: [Reply], _ partition: Int) {
        let notes = state.withLock { state in
            replies.reduce(into: [:]) {
                $0[$1.batch] = state.notes[partition]?.removeValue(forKey: $1.batch) ?? $0[$1.batch]
            }
        }
        // Members that miss the response ask again. The next response has no notes.
        for reply in replies {
            try? line.publish(reply.subject, answer.bytes(with: answer == .kept ? notes[reply.batch] ?? [:] : [:]))
        }
    }
}
