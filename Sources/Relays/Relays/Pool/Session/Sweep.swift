import Core
import Nostr

/// The reading of stored events for some keys, filter by filter and page by page, until each event was processed.
///
/// A sweep starts when the new events of its keys come live, so that no event is lost in between. It requests
/// unprocessed events again by id. If the end of the stored events does not arrive, the page counts as failed; the
/// sweep never assumes the end.
struct Sweep: Sendable {
    enum Purpose: Hashable, Sendable {
        /// Events for a chunk's established keys that the relay received from that second on.
        case gap(chunk: Int, since: Int64)
        /// The same for established keys that each have their own start.
        case stragglers
        /// All stored events for keys that were never read.
        case beginning
        /// Registrations for the router's own key.
        case own(since: Int64?)
        /// Single events that were not processed when they arrived.
        case again
    }

    /// The number of `p` values that are checked. A gift wrap names one recipient.
    private static let namesLookedAt = 4

    let number: UInt32
    let purpose: Purpose
    let keys: [PublicKey]
    /// The steps left to read. The first is being read.
    private var steps: [SweepStep]
    private(set) var subscription: SubscriptionID?
    /// When the relay last sent something for this sweep, or the REQ was sent.
    private var lastActivity = Timestamp.epoch
    /// The number of events that were passed to the delegate and are not settled.
    private var outstanding = 0
    /// Unprocessed events, to read again.
    private(set) var unprocessed: [EventID: Reading] = [:]
    /// Whether everything must be read again, because there are too many unprocessed events to request each.
    private(set) var mustBeginAgain = false
    /// Counts consecutive pages that failed.
    var retry = Retry()
    /// The number of times that the sweep had to read events again.
    private var failedReadings = 0

    init(number: UInt32, purpose: Purpose, keys: [PublicKey], steps: [SweepStep]) {
        self.number = number
        self.purpose = purpose
        self.keys = keys
        self.steps = steps
    }

    /// The step of the open or next REQ; nil if all steps are read.
    var step: SweepStep? { steps.first }
    /// Whether everything was read and no event is outstanding.
    var isRead: Bool { steps.isEmpty && subscription == nil && outstanding == 0 }
    var isBeginning: Bool { purpose == .beginning }
    var isForOwnKey: Bool { if case .own = purpose { true } else { false } }
    /// Whether no mark may be set before this sweep has ended.
    var holdsMark: Bool { !isBeginning }

    /// Returns when the open page counts as failed. There is no deadline while its events are being processed, because
    /// the delay may be the router's.
    func deadline(_ timeout: Duration) -> Timestamp? {
        subscription == nil || outstanding > 0 ? nil : lastActivity + timeout
    }

    /// Whether this sweep reads for one of the keys that a message names. Only the first names count.
    func asksFor(_ named: [Bytes32]) -> Bool {
        named.prefix(Self.namesLookedAt).contains { name in keys.contains { $0.bytes == name } }
    }

    /// Prepares for the next page, which may be an interrupted one.
    mutating func beginPage() { if !steps.isEmpty { steps[0].beginPageAgain() } }

    mutating func sent(_ id: SubscriptionID?, now: Timestamp) {
        subscription = id
        lastActivity = now
        retry.sent()
    }

    /// Returns how to read an event of the current page; nil if it is not wanted.
    mutating func reading(of event: ScannedEvent) -> Reading? {
        steps.isEmpty ? nil : steps[0].reading(of: event)
    }

    mutating func received(now: Timestamp) { lastActivity = now }

    mutating func handedOver() { outstanding += 1 }

    mutating func settled(now: Timestamp) {
        outstanding -= 1
        lastActivity = now
    }

    /// Notes an unprocessed event. One without an id cannot be requested again.
    mutating func missed(_ id: EventID?, _ reading: Reading, atMost limit: Int) {
        if let id, unprocessed.count < limit { unprocessed[id] = reading } else { mustBeginAgain = true }
    }

    /// Ends a page. Returns the number of read failures.
    mutating func endPage() -> Int {
        subscription = nil
        retry.succeeded()
        guard let step = steps.first else { return 0 }
        let end = step.endPage()
        steps.replaceSubrange(..<1, with: end.steps)
        return end.unread
    }

    /// Stops the open page; it is read again later.
    mutating func stopPage() { subscription = nil }

    mutating func failed(until moment: Timestamp) {
        subscription = nil
        retry.failed(until: moment)
    }

    /// Requests one filter at a time.
    mutating func separate() {
        subscription = nil
        steps = steps.flatMap { $0.separated() }
    }

    /// Ends the current step, read or not.
    mutating func endStep() {
        subscription = nil
        if !steps.isEmpty { steps.removeFirst() }
    }

    /// Reads the unprocessed events again, in these steps.
    mutating func readAgain(_ steps: [SweepStep], now: Timestamp, _ settings: SessionSettings) {
        self.steps = steps
        unprocessed = [:]
        retry.wait(until: now + settings.pause(after: failedReadings))
        failedReadings += 1
    }
}

/// One filter of a catch-up, read page after page.
struct SweepStage: Hashable, Sendable {
    /// Without a limit.
    let filter: Filter
    private let reading: Reading
    /// Events dated before that second are not new.
    private let newFrom: Int64
    /// The maximum number of pages to read.
    let pages: Int

    init(filter: Filter, reading: Reading, newFrom: Int64 = .min, pages: Int) {
        self.filter = filter
        self.reading = reading
        self.newFrom = newFrom
        self.pages = pages
    }

    /// Returns the reading of an event that is dated `seconds`.
    func reading(at seconds: Int64) -> Reading { seconds < newFrom ? .baseline : reading }

    /// Whether an event has one of the requested kinds and is in the requested time range.
    func covers(_ event: ScannedEvent) -> Bool {
        filter.kinds?.contains(event.kind) ?? true && event.createdAt >= filter.since ?? .min
            && event.createdAt <= filter.until ?? .max
    }

    /// Whether one REQ may contain both.
    ///
    /// No event may match the kinds and the time range of both, so that each event belongs to one of them. A stage for
    /// old events gets its own REQ: a new event that arrives during it would be taken for an old one.
    func goes(with other: SweepStage) -> Bool {
        isOfNewEvents == other.isOfNewEvents && isApart(from: other)
    }

    /// Whether all its events are new.
    var isOfNewEvents: Bool { reading != .baseline && newFrom == .min }

    private func isApart(from other: SweepStage) -> Bool {
        if let kinds = filter.kinds, let others = other.filter.kinds, kinds.isDisjoint(with: others) { return true }
        return filter.until ?? .max < other.filter.since ?? .min || other.filter.until ?? .max < filter.since ?? .min
    }
}

/// The stages that one REQ reads at a time: one stage page by page, or the first pages of several.
struct SweepStep: Sendable {
    private(set) var pagings: [Paging]
    /// Whether an event arrived that belongs to none of several stages.
    private var hasStrays = false

    init(_ pagings: [Paging]) {
        self.pagings = pagings
    }

    var filters: [Filter] { pagings.map(\.filter) }
    var isOfSeveral: Bool { pagings.count > 1 }
    /// The length of the REQ.
    var length: Int { pagings.reduce(0) { $0 + $1.stage.filter.estimatedLength } }

    /// Packs stages that may share a REQ into as few steps as possible, none longer than `length`.
    static func pack(_ stages: [SweepStage], limit: Int, within length: Int) -> [SweepStep] {
        var steps: [SweepStep] = []
        for stage in stages {
            let paging = Paging(stage, limit: limit)
            if let last = steps.last, last.length + stage.filter.estimatedLength <= length,
                last.pagings.allSatisfy({ $0.stage.goes(with: stage) })
            {
                steps[steps.count - 1].pagings.append(paging)
            } else {
                steps.append(SweepStep([paging]))
            }
        }
        return steps
    }

    /// Returns how to read an event of this page; nil if it is not wanted.
    mutating func reading(of event: ScannedEvent) -> Reading? {
        guard let place = isOfSeveral ? pagings.firstIndex(where: { $0.stage.covers(event) }) : pagings.indices.first
        else {
            hasStrays = true
            return nil
        }
        return pagings[place].takes(event) ? pagings[place].stage.reading(at: event.createdAt) : nil
    }

    /// Prepares to read the page again, because it was interrupted.
    mutating func beginPageAgain() {
        hasStrays = false
        for place in pagings.indices { pagings[place].beginPageAgain() }
    }

    /// Ends the page. Returns the steps left to read, and the number of read failures.
    ///
    /// With several stages, a page without any event is the last of all. Otherwise a relay may have omitted the events
    /// of one stage in favour of another: stages without events are requested again, separately from the others.
    consuming func endPage() -> (steps: [SweepStep], unread: Int) {
        let silent = isOfSeveral ? pagings.filter { $0.seen == 0 } : []
        guard !isOfSeveral || hasStrays || silent.count < pagings.count else { return ([], 0) }
        var steps = hasStrays ? silent.map { SweepStep([$0]) } : silent.isEmpty ? [] : [SweepStep(silent)]
        var unread = 0
        for var paging in pagings where !isOfSeveral || paging.seen > 0 {
            let end = paging.nextPage()
            unread += end.unread
            if end.follows { steps.append(SweepStep([paging])) }
        }
        return (steps, unread)
    }

    /// Returns a step for each stage, for a relay that refuses several filters.
    func separated() -> [SweepStep] { pagings.map { SweepStep([$0]) } }
}
