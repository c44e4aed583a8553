import Cipher
import Console
import Core
import Delivery
import Listeners
import NIOCore
import Nostr
import Pipeline
import Push
import Registry
import Synchronization

/// Shows what happens in the router to those who watch, as server-sent events. While nobody does, it costs a look at a
/// flag for each batch.
package final class LiveStream: Sendable {
    /// What came since readers were served last.
    private struct Inbox {
        var entries: [LiveEntry] = []
        var lost = 0
        /// What readers are to be told of other members.
        var gaps: [LiveGap] = []
        var isServed = false

        mutating func take() -> Inbox {
            defer { self = Inbox() }
            return self
        }
    }

    private struct State {
        var feed: LiveFeed
        /// Nil: the router serves alone.
        var sharing: LiveSharing?
        var peers: (any LivePeers)?
        var readers: [LiveFeed.ReaderID: LiveReader] = [:]
        var isRunning = false
        var isClosed = false
    }

    /// What is known of deliveries and devices. Belongs to the rounds.
    private struct Knowledge {
        var deliveries = BoundedCache<DeliveryID, (event: EventID?, account: PublicKey?)>(capacity: 20_000)
        var accounts = BoundedCache<DeviceID, PublicKey>(capacity: 20_000)
        var queues = BoundedCache<DeviceID, QueueName>(capacity: 20_000)
        /// Outcomes that came before the step that names their event. They are shown in the next round.
        var early: [LiveEntry] = []

        /// What is shown in this round of `new`, after what waited for it.
        mutating func take(_ new: [LiveEntry]) -> [LiveEntry] {
            for entry in new where entry.kind == .step && entry.event != nil {
                guard let delivery = entry.delivery else { continue }
                deliveries.set((entry.event, entry.account), for: delivery)
            }
            let waited = early
            early = new.filter(isEarly)
            return waited + (early.isEmpty ? new : new.filter { !isEarly($0) })
        }

        private func isEarly(_ entry: LiveEntry) -> Bool {
            guard entry.kind == .outcome, let delivery = entry.delivery else { return false }
            return !deliveries.contains(delivery)
        }
    }

    /// Entries between two rounds; further ones are lost. With half as many readers are served before their time.
    private static let mostWaiting = 8_192
    /// Bytes that wait for one reader.
    private static let mostUnread = 64 << 10
    private static let mostGaps = 64

    private let isWatched = Atomic<Bool>(false)
    private let inbox = Mutex(Inbox())
    private let state: Mutex<State>
    private let knowledge = Mutex(Knowledge())
    private let device: @Sendable (DeviceID) -> DeviceListing?
    private let now: @Sendable () -> Timestamp
    private let monotonic: @Sendable () -> Deadline
    private let later: Later

    /// Runs something after a pause, one after the other.
    package typealias Later = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

    /// `readers` may read at the same time; `device` looks one up, and may read the disk. `later` runs rounds.
    package init(
        readers: Int,
        device: @escaping @Sendable (DeviceID) -> DeviceListing?,
        now: @escaping @Sendable () -> Timestamp,
        monotonic: @escaping @Sendable () -> Deadline = Deadline.now,
        later: @escaping Later
    ) {
        self.device = device
        self.later = later
        self.now = now
        self.monotonic = monotonic
        let feed = LiveFeed(LiveFeed.Limits(readers: readers)) { Hex.encode(SecureRandom.bytes(4)) }
        state = Mutex(State(feed: feed))
    }

    /// `last` is the id of the last entry that the reader had. Throws an ``APIProblem`` where too many read.
    func open(
        _ filter: LiveFilter,
        for client: APIPrincipal? = nil,
        after last: String?
    ) throws(APIProblem) -> LiveReader {
        let (reader, former, mustRun) = state.withLock { state -> (LiveReader?, LiveReader?, Bool) in
            guard !state.isClosed, let joined = state.feed.join(filter, for: client, after: last, now: monotonic())
            else { return (nil, nil, false) }
            let former = joined.inPlaceOf.flatMap { state.readers.removeValue(forKey: $0) }
            let reader = LiveReader(limit: Self.mostUnread) { [weak self] in self?.leave(joined.id) }
            for frame in joined.frames { reader.put(frame) }
            state.readers[joined.id] = reader
            defer { state.isRunning = true }
            return (reader, former, !state.isRunning)
        }
        former?.end()
        guard let reader else {
            throw APIProblem(503, "too many read already: try again later", retryAfter: 10)
        }
        isWatched.store(true, ordering: .relaxed)
        if mustRun { schedule() }
        return reader
    }

    /// Shows what all members do from now on, and them what this one does.
    package func share(with peers: any LivePeers) {
        state.withLock { ($0.peers, $0.sharing) = (peers, LiveSharing(peers.name)) }
    }

    /// Another member says something.
    package func receive(_ bytes: [UInt8]) {
        let (news, isWanted, mustRun) = state.withLock { state -> (LiveSharing.News?, Bool, Bool) in
            guard !state.isClosed, let news = state.sharing?.receive(bytes, now: monotonic()) else {
                return (nil, false, false)
            }
            guard state.sharing?.hasAudience == true else { return (news, false, false) }
            defer { state.isRunning = true }
            return (news, true, !state.isRunning)
        }
        if isWanted { isWatched.store(true, ordering: .relaxed) }
        if mustRun { schedule() }
        guard let news else { return }
        add(news.entries)
        if !news.gaps.isEmpty {
            inbox.withLock { $0.gaps += news.gaps.prefix(max(0, Self.mostGaps - $0.gaps.count)) }
        }
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
        later(pause) { [weak self] in self?.round() }
    }

    private func round() {
        serve()
        tell()
        let isOver = state.withLock { state in
            let isAbandoned = state.feed.isAbandoned(now: monotonic()) || state.feed.isForgotten
            let isOver = state.isClosed || (isAbandoned && state.sharing?.hasAudience != true)
            if isOver {
                state.isRunning = false
                isWatched.store(false, ordering: .relaxed)
            }
            return isOver
        }
        if isOver {
            inbox.withLock { $0 = Inbox() }
            knowledge.withLock { $0.early = [] }
        } else {
            schedule()
        }
    }

    /// Says to the other members what is read here, and readers who is not heard.
    private func tell() {
        guard let peers = state.withLock(\.peers) else { return }
        let others = peers.others
        let (messages, gaps) = state.withLock { state in
            let filters = state.feed.filters
            return state.sharing?.round(filters, others: others, now: monotonic()) ?? ([], gaps: [])
        }
        for message in messages { peers.tell(message.bytes, to: message.member) }
        if !gaps.isEmpty { inbox.withLock { $0.gaps += gaps } }
    }

    /// Gives readers what has come.
    func serve() {
        var new = inbox.withLock { $0.take() }
        let (queues, accounts, member) = state.withLock { state in
            let (feed, sharing) = (state.feed, state.sharing)
            return (
                feed.needsQueues || sharing?.needsQueues == true, feed.needsAccounts || sharing?.needsAccounts == true,
                state.peers?.name
            )
        }
        knowledge.withLock { knowledge in
            new.entries = knowledge.take(new.entries)
            for index in new.entries.indices {
                if new.entries[index].member == nil { new.entries[index].member = member }
                complete(&new.entries[index], queues, accounts, &knowledge)
            }
        }
        let (gifts, messages, peers) = state.withLock { state in
            let now = monotonic()
            let gifts = state.feed.take(new.entries, lost: new.lost, gaps: new.gaps, now: now).compactMap { id, frame in
                state.readers[id].map { ($0, frame) }
            }
            guard state.sharing?.hasAudience == true else { return (gifts, [LiveSharing.Message](), state.peers) }
            let own = new.entries.filter { !$0.isElsewhere }
            return (gifts, state.sharing?.frames(own, lost: new.lost, now: now) ?? [], state.peers)
        }
        for (reader, frame) in gifts { reader.put(frame) }
        for message in messages { peers?.tell(message.bytes, to: message.member) }
    }

    private func complete(
        _ entry: inout LiveEntry,
        _ needsQueues: Bool,
        _ needsAccounts: Bool,
        _ knowledge: inout Knowledge
    ) {
        if entry.kind == .outcome, let known = entry.delivery.flatMap({ knowledge.deliveries.value(of: $0) }) {
            (entry.event, entry.account) = known
        }
        guard let id = entry.device else { return }
        if let account = entry.account { knowledge.accounts.set(account, for: id) }
        if let queue = entry.queue { knowledge.queues.set(queue, for: id) }
        if entry.account == nil { entry.account = knowledge.accounts.value(of: id) }
        if entry.queue == nil { entry.queue = knowledge.queues.value(of: id) }
        guard needsQueues && entry.queue == nil || needsAccounts && entry.account == nil, let found = device(id) else {
            return
        }
        let queue = QueueName(found.route)
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
        if mustServe { later(.zero) { [weak self] in self?.serve() } }
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
