import Core
import Dispatch
import Push
import Synchronization

/// Writes changes to the outbox, many in one transaction, and reads pages from it after the changes posted before.
///
/// It tries again until the disk accepts the changes. No posted change is lost while the process runs, and pages and
/// flushes wait for the changes before them.
final class OutboxWriter: Sendable {
    enum Message: Sendable {
        case changes(OutboxChanges)
        case read(OutboxRead)
        /// Called when all changes posted before are on disk.
        case flush(@Sendable () -> Void)
        case discard(Discard)
        case retry
    }

    /// Deliveries to remove if they are stored. `done` is called with the removed ones afterwards.
    struct Discard: Sendable {
        let entries: [QueueEntry]
        let done: @Sendable ([QueueEntry]) -> Void
    }

    private let store: any DeliveryStore
    private let now: @Sendable () -> Timestamp
    private let alarm: any Alarm
    /// Takes messages from any thread.
    let mailbox = SerialMailbox<Message>(label: "carillon.outbox")
    private let pending = Mutex(PendingWrites())
    private let received: @Sendable (OutboxRead, OutboxPage) -> Void
    private let isWritable: @Sendable (Bool) -> Void
    private let failed: @Sendable (any Error) -> Void

    /// `isWritable` is called when changes can no longer be written, and when they can again.
    init(
        store: any DeliveryStore,
        now: @escaping @Sendable () -> Timestamp,
        alarm: any Alarm,
        received: @escaping @Sendable (OutboxRead, OutboxPage) -> Void,
        isWritable: @escaping @Sendable (Bool) -> Void,
        failed: @escaping @Sendable (any Error) -> Void
    ) {
        self.store = store
        self.now = now
        self.alarm = alarm
        self.received = received
        self.isWritable = isWritable
        self.failed = failed
        mailbox.open { [weak self] in self?.handle($0) }
    }

    private func handle(_ messages: [Message]) {
        let (isWaiting, changes) = pending.withLock { pending in
            for message in messages { pending.add(message) }
            return (pending.isWaiting, pending.changes)
        }
        guard !isWaiting else { return }
        var reads: ArraySlice<OutboxRead> = []
        do {
            try store.apply(changes)
            let hadFailed: Bool
            hadFailed = pending.withLock { $0.written() }
            if hadFailed { isWritable(true) }
            while let discard = pending.withLock(\.discards.first) {
                let removed = try remove(discard.entries)
                pending.withLock { $0.discarded() }
                discard.done(removed)
            }
            reads = pending.withLock { $0.takeReads()[...] }
            while let read = reads.first {
                received(read, try page(read))
                reads.removeFirst()
            }
            for done in pending.withLock({ $0.takeFlushes() }) { done() }
        } catch {
            failed(error)
            let unread = Array(reads)
            let (retryAt, isUnwritten) = pending.withLock { ($0.failed(now: now(), unread: unread), $0.isUnwritten) }
            if isUnwritten { isWritable(false) }
            alarm.ring(at: retryAt) { [weak self] in self?.mailbox.post(.retry) }
        }
    }

    private func remove(_ entries: [QueueEntry]) throws -> [QueueEntry] {
        let present = try store.outbox.present(entries.compactMap(\.key))
        let removed = entries.filter { entry in entry.key.map(present.contains) ?? false }
        var changes = OutboxChanges()
        changes.removals = Array(present)
        changes.ends = CompletedPush.all(of: removed.map { $0.report(.discarded) }, at: now())
        try store.apply(changes)
        return removed
    }

    private func page(_ read: OutboxRead) throws -> OutboxPage {
        switch read.part {
        case .firstTries(let after): try store.firstTries(of: read.number, after: after, limit: read.limit)
        case .retries(let place): try store.retries(of: read.number, from: place, limit: read.limit)
        }
    }
}

/// The remaining work of an ``OutboxWriter``, and when to try again.
struct PendingWrites: Sendable {
    private(set) var changes = OutboxChanges()
    private(set) var reads: [OutboxRead] = []
    private(set) var discards: [OutboxWriter.Discard] = []
    private(set) var flushes: [@Sendable () -> Void] = []
    private var wait = Pause.Length(first: .milliseconds(100), longest: .seconds(10))
    private var retryAt: Timestamp?

    mutating func add(_ message: OutboxWriter.Message) {
        switch message {
        case .changes(let later): changes.append(later)
        case .read(let read): reads.append(read)
        case .flush(let done): flushes.append(done)
        case .discard(let discard): discards.append(discard)
        case .retry: retryAt = nil
        }
    }

    /// Whether it waits before the next try.
    var isWaiting: Bool { retryAt != nil }

    /// Whether the disk refused changes.
    private(set) var isUnwritten = false

    /// Records that all changes are on disk. Returns whether the disk had refused them before.
    mutating func written() -> Bool {
        changes = OutboxChanges()
        wait.reset()
        defer { isUnwritten = false }
        return isUnwritten
    }

    /// Records that the first discard is done.
    mutating func discarded() { discards.removeFirst() }

    mutating func takeReads() -> [OutboxRead] {
        defer { reads = [] }
        return reads
    }

    mutating func takeFlushes() -> [@Sendable () -> Void] {
        defer { flushes = [] }
        return flushes
    }

    /// Records that the disk refused, with the pages that were not read. Returns when to try again.
    mutating func failed(now: Timestamp, unread: [OutboxRead]) -> Timestamp {
        reads = unread + reads
        isUnwritten = !changes.isEmpty
        let end = now + wait.next()
        retryAt = end
        return end
    }
}

/// Takes messages from any thread and passes them on in order, one batch at a time, on a separate queue.
///
/// Posting takes one short lock and wakes an idle queue with ``WakeUps``. It never runs callbacks on the poster's
/// thread.
final class SerialMailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isScheduled = false
        var receive: (@Sendable ([Message]) -> Void)?

        /// Returns whether the caller must start the queue.
        mutating func schedule() -> Bool {
            guard !isScheduled, receive != nil, !messages.isEmpty else { return false }
            isScheduled = true
            return true
        }
    }

    private let state = Mutex(State())
    let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    /// Starts to pass on messages, first those posted before.
    func open(_ receive: @escaping @Sendable ([Message]) -> Void) {
        let schedule = state.withLock { state in
            state.receive = receive
            return state.schedule()
        }
        if schedule { queue.async { self.drain() } }
    }

    func post(_ message: Message) {
        let schedule = state.withLock { state in
            state.messages.append(message)
            return state.schedule()
        }
        if schedule { WakeUps.ask { self.queue.async { self.drain() } } }
    }

    private func drain() {
        while true {
            let (messages, receive) = state.withLock { state in
                var messages: [Message] = []
                swap(&messages, &state.messages)
                if messages.isEmpty { state.isScheduled = false }
                return (messages, state.receive)
            }
            guard !messages.isEmpty else { return }
            receive?(messages)
        }
    }
}

/// Resumes one waiting task at the first call of ``open()``.
final class ShutdownGate: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) {
        self.continuation = Mutex(continuation)
    }

    func open() {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }?.resume()
    }
}
