import Nostr
import Units

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
