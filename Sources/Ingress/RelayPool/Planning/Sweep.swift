import Nostr

/// The reading of stored events for some keys, filter after filter and page after page, until each event was dealt with.
struct Sweep: Sendable {
    /// A gift wrap names its one receiver.
    private static let namesLookedAt = 4

    enum Purpose: Hashable, Sendable {
        /// What the relay got for a chunk's established keys from that second on.
        case gap(chunk: Int, since: Int64)
        /// The same for established keys that each have their own moment.
        case laggards
        /// Everything for keys of which nothing was read before.
        case beginning
        /// Registrations for our own key.
        case own(since: Int64?)
        /// Single events that were not dealt with when they came.
        case again
    }

    let number: UInt32
    let purpose: Purpose
    let keys: [PublicKey]
    /// What is left to read; the first is being read.
    var steps: [SweepStep]
    var subscription: SubscriptionID?
    /// When the relay was last heard in this subscription, or the REQ was sent.
    var heardAt: Int64 = 0
    /// Events handed over of which nothing was heard yet.
    var outstanding = 0
    /// Events that were not dealt with, to be read again.
    var undealt: [EventID: Reading] = [:]
    /// Too many events were not dealt with to ask for each: all is to be read again.
    var mustBeginAgain = false
    var retryAt: Int64 = 0
    /// Pages in a row that did not come to their end.
    var failures = 0
    /// How often events were not dealt with.
    var failedReadings = 0
    var awaitsAuthentication = false

    /// Whether everything was read and nothing is out.
    var isRead: Bool { steps.isEmpty && subscription == nil && outstanding == 0 }

    var isBeginning: Bool { purpose == .beginning }

    var isForOwnKey: Bool { if case .own = purpose { true } else { false } }

    /// Whether a mark would promise what this has not read yet.
    var holdsMark: Bool { !isBeginning }

    /// How an event of the page that is being read is to be taken; nil if it is not wanted.
    mutating func reading(of event: ScannedEvent) -> Reading? {
        steps.isEmpty ? nil : steps[0].reading(of: event)
    }

    /// Whether this reads for one of those whom a message names. Of many only the first count.
    func asksFor(_ named: [Bytes32]) -> Bool {
        named.prefix(Self.namesLookedAt).contains { name in keys.contains { $0.bytes == name } }
    }

    /// Returns how often events turned out to be out of reach.
    mutating func endPage() -> Int {
        guard let step = steps.first else { return 0 }
        let end = step.endPage()
        steps.replaceSubrange(..<1, with: end.steps)
        return end.unread
    }

    /// Ends what is being read, read or not.
    mutating func endStep() {
        if !steps.isEmpty { steps.removeFirst() }
    }
}
