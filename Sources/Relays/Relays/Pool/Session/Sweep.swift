import Core
import Nostr

/// The reading of stored events for some keys, filter after filter and page after page, until each event was dealt
/// with.
///
/// A sweep begins when the new events of its keys come live, so that no event falls in between. It asks again, by id,
/// for events that were not dealt with. If the end of the stored events does not come, the page counts as failed; the
/// end is never assumed.
struct Sweep: Sendable {
    enum Purpose: Hashable, Sendable {
        /// What the relay got for a chunk's established keys from that second on.
        case gap(chunk: Int, since: Int64)
        /// The same for established keys that each have their own moment.
        case stragglers
        /// Everything for keys that were never read.
        case beginning
        /// Registrations for our own key.
        case own(since: Int64?)
        /// Single events that were not dealt with when they came.
        case again
    }

    /// A gift wrap names one receiver.
    private static let namesLookedAt = 4

    let number: UInt32
    let purpose: Purpose
    let keys: [PublicKey]
    /// What is left to read; the first is being read.
    private var steps: [SweepStep]
    private(set) var subscription: SubscriptionID?
    /// When the relay last sent something for this, or the REQ was sent.
    private var lastActivity = Timestamp.epoch
    /// Events that were handed over and are not settled.
    private var outstanding = 0
    /// Events that were not dealt with, to be read again.
    private(set) var undealt: [EventID: Reading] = [:]
    /// Too many events were not dealt with to ask for each: all is to be read again.
    private(set) var mustBeginAgain = false
    /// Counts pages in a row that did not come to their end.
    var retry = Retry()
    /// How often the sweep had to read events again.
    private var failedReadings = 0

    init(number: UInt32, purpose: Purpose, keys: [PublicKey], steps: [SweepStep]) {
        self.number = number
        self.purpose = purpose
        self.keys = keys
        self.steps = steps
    }

    /// What the next REQ, or the one that is open, asks for; nil when there is nothing left.
    var step: SweepStep? { steps.first }
    /// Whether everything was read and nothing is out.
    var isRead: Bool { steps.isEmpty && subscription == nil && outstanding == 0 }
    var isBeginning: Bool { purpose == .beginning }
    var isForOwnKey: Bool { if case .own = purpose { true } else { false } }
    /// Whether a mark would promise what this has not read yet.
    var holdsMark: Bool { !isBeginning }

    /// When the open page counts as failed. While events of it are in work there is no deadline: then we may be who is
    /// slow.
    func deadline(_ patience: Duration) -> Timestamp? {
        subscription == nil || outstanding > 0 ? nil : lastActivity + patience
    }

    /// Whether this reads for one of the keys that a message names. Of many keys only the first count.
    func asksFor(_ named: [Bytes32]) -> Bool {
        named.prefix(Self.namesLookedAt).contains { name in keys.contains { $0.bytes == name } }
    }

    /// Prepares for the next page, which may be one that was interrupted.
    mutating func beginPage() { if !steps.isEmpty { steps[0].beginPageAgain() } }

    mutating func sent(_ id: SubscriptionID?, now: Timestamp) {
        subscription = id
        lastActivity = now
        retry.sent()
    }

    /// How an event of the page that is being read is to be taken; nil if it is not wanted.
    mutating func reading(of event: ScannedEvent) -> Reading? {
        steps.isEmpty ? nil : steps[0].reading(of: event)
    }

    mutating func received(now: Timestamp) { lastActivity = now }

    mutating func handedOver() { outstanding += 1 }

    mutating func settled(now: Timestamp) {
        outstanding -= 1
        lastActivity = now
    }

    /// An event was not dealt with. One without an id cannot be asked for again.
    mutating func missed(_ id: EventID?, _ reading: Reading, atMost limit: Int) {
        if let id, undealt.count < limit { undealt[id] = reading } else { mustBeginAgain = true }
    }

    /// Ends a page. Returns how often events could not be read.
    mutating func endPage() -> Int {
        subscription = nil
        retry.succeeded()
        guard let step = steps.first else { return 0 }
        let end = step.endPage()
        steps.replaceSubrange(..<1, with: end.steps)
        return end.unread
    }

    /// Stops the page that is open; it is read again later.
    mutating func stopPage() { subscription = nil }

    mutating func failed(until moment: Timestamp) {
        subscription = nil
        retry.failed(until: moment)
    }

    /// Asks for one filter at a time.
    mutating func separate() {
        subscription = nil
        steps = steps.flatMap { $0.separated() }
    }

    /// Ends what is being read, read or not.
    mutating func endStep() {
        subscription = nil
        if !steps.isEmpty { steps.removeFirst() }
    }

    /// Reads by these steps what was not dealt with.
    mutating func readAgain(_ steps: [SweepStep], now: Timestamp, _ settings: SessionSettings) {
        self.steps = steps
        undealt = [:]
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
    /// Pages that are read at most.
    let pages: Int

    init(filter: Filter, reading: Reading, newFrom: Int64 = .min, pages: Int) {
        self.filter = filter
        self.reading = reading
        self.newFrom = newFrom
        self.pages = pages
    }

    /// The reading of an event that is dated `seconds`.
    func reading(at seconds: Int64) -> Reading { seconds < newFrom ? .baseline : reading }

    /// Whether an event is of the kinds and the time asked for.
    func covers(_ event: ScannedEvent) -> Bool {
        filter.kinds?.contains(event.kind) ?? true && event.createdAt >= filter.since ?? .min
            && event.createdAt <= filter.until ?? .max
    }

    /// Whether one REQ may ask for both.
    ///
    /// No event may match the kinds and the time of both, so that each event belongs to one of them. A stage for old
    /// events has a REQ of its own: a new event that comes meanwhile would be taken for an old one.
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

/// What is read by one REQ at a time: one stage page after page, or the first pages of several.
struct SweepStep: Sendable {
    private(set) var pagings: [Paging]
    /// An event came that belongs to none of several stages.
    private var hasStrays = false

    init(_ pagings: [Paging]) {
        self.pagings = pagings
    }

    var filters: [Filter] { pagings.map(\.filter) }
    var isOfSeveral: Bool { pagings.count > 1 }
    /// The length of the REQ.
    var length: Int { pagings.reduce(0) { $0 + $1.stage.filter.estimatedLength } }

    /// Packs stages that go together into as few steps as possible, none longer than `length`.
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

    /// How an event of this page is to be read; nil if it is not wanted.
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

    /// Ends the page. Returns what is left to read, and how often events could not be read.
    ///
    /// With several stages, a page without any event is the last of all. Otherwise a relay may have left out the events
    /// of one stage in favour of another: stages without events are asked for again, without those that had some.
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

    /// The same with a step for each stage, for a relay that refuses several filters.
    func separated() -> [SweepStep] { pagings.map { SweepStep([$0]) } }
}
