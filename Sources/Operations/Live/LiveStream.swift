import Caching
import Cipher
import Console
import Delivery
import Dispatch
import HTTPListening
import NIOCore
import Nostr
import Notifications
import Pipeline
import Registry
import Synchronization
import Units

/// Shows what happens in the router to those who watch, as server-sent events. While nobody does, it costs a look at a
/// flag for each batch.
package final class LiveStream: Sendable {
    /// What came since readers were served last.
    private struct Inbox {
        var entries: [LiveEntry] = []
        var lost = 0
        var isServed = false

        mutating func take() -> Inbox {
            defer { self = Inbox() }
            return self
        }
    }

    private struct State {
        var feed: LiveFeed
        var readers: [LiveFeed.ReaderID: LiveReader] = [:]
        var isRunning = false
        var isClosed = false
    }

    /// What is known of deliveries and devices. Belongs to the queue.
    private struct Knowledge {
        var deliveries = BoundedCache<String, (event: EventID?, account: PublicKey?)>(capacity: 20_000)
        var accounts = BoundedCache<DeviceID, PublicKey>(capacity: 20_000)
        var queues = BoundedCache<DeviceID, QueueName>(capacity: 20_000)
    }

    /// Entries between two rounds; further ones are lost. With half as many readers are served before their time.
    private static let mostWaiting = 8_192
    /// Bytes that wait for one reader.
    private static let mostUnread = 64 << 10

    private let isWatched = Atomic<Bool>(false)
    private let inbox = Mutex(Inbox())
    private let state: Mutex<State>
    private let knowledge = Mutex(Knowledge())
    private let device: @Sendable (DeviceID) -> DeviceListing?
    private let now: @Sendable () -> Timestamp
    private let monotonic: @Sendable () -> Deadline
    private let queue = DispatchQueue(label: "carillon stream")

    /// `readers` may read at the same time; `device` looks one up, and may read the disk.
    package init(
        readers: Int,
        device: @escaping @Sendable (DeviceID) -> DeviceListing?,
        now: @escaping @Sendable () -> Timestamp,
        monotonic: @escaping @Sendable () -> Deadline = Deadline.now
    ) {
        self.device = device
        self.now = now
        self.monotonic = monotonic
        let feed = LiveFeed(LiveFeed.Limits(readers: readers)) { Hex.encode(SecureRandom.bytes(4)) }
        state = Mutex(State(feed: feed))
    }

    /// `last` is the id of the last entry that the reader had. Throws an ``APIProblem`` where too many read.
    func open(_ filter: LiveFilter, after last: String?) throws(APIProblem) -> LiveReader {
        let (reader, mustRun) = state.withLock { state -> (LiveReader?, Bool) in
            guard !state.isClosed, let joined = state.feed.join(filter, after: last, now: monotonic()) else {
                return (nil, false)
            }
            let reader = LiveReader(limit: Self.mostUnread) { [weak self] in self?.leave(joined.id) }
            for frame in joined.frames { reader.put(frame) }
            state.readers[joined.id] = reader
            defer { state.isRunning = true }
            return (reader, !state.isRunning)
        }
        guard let reader else {
            throw APIProblem(503, "too many read already: try again later", retryAfter: 10)
        }
        isWatched.store(true, ordering: .relaxed)
        if mustRun { schedule() }
        return reader
    }

    /// Whether anybody reads, or did so lately.
    var isRead: Bool { isWatched.load(ordering: .relaxed) }

    func add(_ events: [OperationalEvent]) {
        if isRead { add(events.lazy.map { LiveEntry($0) }) }
    }

    func add(_ issues: [RouterStatus.Issue], areOver: Bool) {
        guard isRead, !issues.isEmpty else { return }
        let time = now()
        add(issues.lazy.map { LiveEntry($0, isOver: areOver, at: time) })
    }

    /// Ends what is read, for good.
    package func close() {
        let readers = state.withLock { state in
            state.isClosed = true
            return Array(state.readers.values)
        }
        for reader in readers { reader.end() }
    }

    private func leave(_ reader: LiveFeed.ReaderID) {
        state.withLock { state in
            guard state.readers.removeValue(forKey: reader) != nil else { return }
            state.feed.leave(reader, now: monotonic())
        }
    }

    // MARK: Rounds

    private func schedule() {
        let pause = state.withLock { $0.feed.pause }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause.milliseconds))) { [weak self] in self?.round() }
    }

    private func round() {
        serve()
        let isOver = state.withLock { state in
            let isOver = state.isClosed || state.feed.isAbandoned(now: monotonic())
            if isOver {
                state.isRunning = false
                isWatched.store(false, ordering: .relaxed)
            }
            return isOver
        }
        if isOver {
            inbox.withLock { $0 = Inbox() }
        } else {
            schedule()
        }
    }

    /// Gives readers what has come.
    func serve() {
        var new = inbox.withLock { $0.take() }
        let needs = state.withLock { (queues: $0.feed.needsQueues, accounts: $0.feed.needsAccounts) }
        knowledge.withLock { knowledge in
            for index in new.entries.indices { complete(&new.entries[index], needs.queues, needs.accounts, &knowledge) }
        }
        let gifts = state.withLock { state in
            state.feed.take(new.entries, lost: new.lost, now: monotonic()).compactMap { id, frame in
                state.readers[id].map { ($0, frame) }
            }
        }
        for (reader, frame) in gifts { reader.put(frame) }
    }

    private func complete(
        _ entry: inout LiveEntry,
        _ needsQueues: Bool,
        _ needsAccounts: Bool,
        _ knowledge: inout Knowledge
    ) {
        if let delivery = entry.delivery {
            if entry.kind == .step {
                if entry.event != nil { knowledge.deliveries.set((entry.event, entry.account), for: delivery) }
            } else if let known = knowledge.deliveries.value(of: delivery) {
                (entry.event, entry.account) = known
            }
        }
        guard let id = entry.device else { return }
        if let account = entry.account { knowledge.accounts.set(account, for: id) }
        if let queue = entry.queue { knowledge.queues.set(queue, for: id) }
        if entry.account == nil { entry.account = knowledge.accounts.value(of: id) }
        if entry.queue == nil { entry.queue = knowledge.queues.value(of: id) }
        guard needsQueues && entry.queue == nil || needsAccounts && entry.account == nil, let found = device(id) else {
            return
        }
        let queue = QueueName(platform: found.route.platform, app: found.route.app)
        knowledge.accounts.set(found.account, for: id)
        knowledge.queues.set(queue, for: id)
        (entry.account, entry.queue) = (entry.account ?? found.account, entry.queue ?? queue)
    }

    private func add(_ entries: some Collection<LiveEntry>) {
        let mustServe = inbox.withLock { inbox in
            let room = max(0, Self.mostWaiting - inbox.entries.count)
            inbox.entries += entries.prefix(room)
            inbox.lost += max(0, entries.count - room)
            defer { inbox.isServed = inbox.isServed || inbox.entries.count >= Self.mostWaiting / 2 }
            return !inbox.isServed && inbox.entries.count >= Self.mostWaiting / 2
        }
        if mustServe { queue.async { [weak self] in self?.serve() } }
    }
}

extension LiveStream: PipelineObserver {
    package func record(_ counts: [PipelineStep: Int]) {}

    package func trace(_ steps: [TraceStep], at time: Timestamp) {
        guard isRead else { return }
        add(steps.lazy.map { LiveEntry($0, at: time) })
    }
}

extension LiveStream: DeliveryObserver {
    package func deliveriesReported(_ reports: [DeliveryReport]) {
        guard isRead else { return }
        let time = now()
        add(reports.lazy.map { LiveEntry($0, at: time) })
    }

    package func deliveriesPostponed(_ reports: [DeliveryReport]) { deliveriesReported(reports) }

    package func queuePaused(_ pause: QueuePause) {}

    package func queueResumed(_ queue: QueueName) {}

    package func outboxFailed(_ error: any Error) {}
}

/// One who reads, and what waits for them.
final class LiveReader: LiveBody {
    private struct State {
        var mailbox: LiveMailbox
        var waiting: CheckedContinuation<ByteBuffer?, Never>?
        var isOver = false
    }

    private let state: Mutex<State>
    private let left: @Sendable () -> Void

    init(limit: Int, left: @escaping @Sendable () -> Void) {
        state = Mutex(State(mailbox: LiveMailbox(limit: limit)))
        self.left = left
    }

    func put(_ frame: LiveFeed.Frame) {
        let (waiting, part) = state.withLock { state -> (CheckedContinuation<ByteBuffer?, Never>?, ByteBuffer?) in
            guard !state.isOver else { return (nil, nil) }
            state.mailbox.put(frame)
            guard let waiting = state.waiting else { return (nil, nil) }
            state.waiting = nil
            return (waiting, state.mailbox.take())
        }
        waiting?.resume(returning: part)
    }

    func next() async -> ByteBuffer? {
        await withCheckedContinuation { continuation in
            let answer: ByteBuffer?? = state.withLock { state in
                if state.isOver { return .some(nil) }
                if let part = state.mailbox.take() { return part }
                state.waiting = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func end() {
        let (waiting, isNews) = state.withLock { state in
            defer {
                state.waiting = nil
                state.isOver = true
                state.mailbox.clear()
            }
            return (state.waiting, !state.isOver)
        }
        waiting?.resume(returning: nil)
        if isNews { left() }
    }
}
