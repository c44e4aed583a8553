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

/// Streams the router's activity to readers, by server-sent events. Without readers, the cost is one check of a flag
/// for each batch.
package final class LiveStream: Sendable {
    /// Entries since the last round.
    private struct Inbox {
        var entries: [LiveEntry] = []
        var lost = 0
        /// Gaps at other members, to report to readers.
        var gaps: [LiveGap] = []
        var isServed = false

        mutating func take() -> Inbox {
            defer { self = Inbox() }
            return self
        }
    }

    private struct State {
        var feed: LiveFeed
        /// Nil if the router is not in a cluster.
        var sharing: LiveSharing?
        var peers: (any LivePeers)?
        var readers: [LiveFeed.ReaderID: LiveReader] = [:]
        var isRunning = false
        var isClosed = false
    }

    /// Known facts of deliveries and devices. Used only by rounds.
    private struct Knowledge {
        var deliveries = BoundedCache<DeliveryID, (event: EventID?, account: PublicKey?)>(capacity: 20_000)
        var accounts = BoundedCache<DeviceID, PublicKey>(capacity: 20_000)
        var queues = BoundedCache<DeviceID, QueueName>(capacity: 20_000)
        /// Outcomes that arrived before the step that names their event. They are shown in the next round.
        var early: [LiveEntry] = []

        /// Returns the entries to show in this round: earlier ones that waited, then those of `new` that need not wait.
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

    /// The limit of entries between two rounds; more are dropped. Half of it triggers an early round.
    private static let maxWaiting = 8_192
    /// The limit of bytes in one reader's buffer.
    private static let maxUnread = 64 << 10
    private static let maxGaps = 64

    private let isWatched = Atomic<Bool>(false)
    private let inbox = Mutex(Inbox())
    private let state: Mutex<State>
    private let knowledge = Mutex(Knowledge())
    private let device: @Sendable (DeviceID) -> DeviceListing?
    private let now: @Sendable () -> Timestamp
    private let monotonic: @Sendable () -> Deadline
    private let later: Later

    /// Runs a closure after a delay, on a serial queue.
    package typealias Later = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

    /// `readers` is the limit of readers. `device` looks a device up and may read the disk. `later` runs rounds.
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

    /// Adds a reader. `last` is the ID of its last entry. Throws an ``APIError`` if there are too many readers.
    func open(
        _ filter: LiveFilter,
        for client: APIPrincipal? = nil,
        after last: String?
    ) throws(APIError) -> LiveReader {
        let (reader, former, mustRun) = state.withLock { state -> (LiveReader?, LiveReader?, Bool) in
            guard !state.isClosed, let joined = state.feed.join(filter, for: client, after: last, now: monotonic())
            else { return (nil, nil, false) }
            let former = joined.inPlaceOf.flatMap { state.readers.removeValue(forKey: $0) }
            let reader = LiveReader(limit: Self.maxUnread) { [weak self] in self?.leave(joined.id) }
            for frame in joined.frames { reader.put(frame) }
            state.readers[joined.id] = reader
            defer { state.isRunning = true }
            return (reader, former, !state.isRunning)
        }
        former?.end()
        guard let reader else {
            throw APIError(503, "too many readers: try again later", retryAfter: 10)
        }
        isWatched.store(true, ordering: .relaxed)
        if mustRun { schedule() }
        return reader
    }

    /// Exchanges entries with the other members from now on.
    package func share(with peers: any LivePeers) {
        state.withLock { ($0.peers, $0.sharing) = (peers, LiveSharing(peers.name)) }
    }

    /// Processes a message of another member.
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
            inbox.withLock { $0.gaps += news.gaps.prefix(max(0, Self.maxGaps - $0.gaps.count)) }
        }
    }

    /// Whether there are readers, or recently were.
    var isRead: Bool { isWatched.load(ordering: .relaxed) }

    func add(_ events: [OperationalEvent]) {
        if isRead { add(events.lazy.map { LiveEntry($0) }) }
    }

    func add(_ issues: [RouterStatus.Issue], areResolved: Bool) {
        guard isRead, !issues.isEmpty else { return }
        let time = now()
        add(issues.lazy.map { LiveEntry($0, isResolved: areResolved, at: time) })
    }

    /// Permanently ends all streams.
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

    /// Sends the readers' filters to the other members, and reports silent members to the readers.
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

    /// Sends new entries to readers.
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
            let room = max(0, Self.maxWaiting - inbox.entries.count)
            inbox.entries += entries.prefix(room)
            inbox.lost += max(0, entries.count - room)
            defer { inbox.isServed = inbox.isServed || inbox.entries.count >= Self.maxWaiting / 2 }
            return !inbox.isServed && inbox.entries.count >= Self.maxWaiting / 2
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
}

/// A reader with its buffer.
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
