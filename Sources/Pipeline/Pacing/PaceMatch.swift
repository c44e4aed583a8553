import Nostr
import Notifications
import Rules
import Units

/// An event that is to wake a device, with what matters to the device's pace.
package struct PaceMatch: Sendable {
    let event: EventID
    let signal: Signal
    let mode: Mode
    let urgency: Urgency
    /// When it expires by the event (NIP-40) or its rule; the epoch: never.
    let expiresAt: Timestamp
    let pace: PushPace
    let nature: PushNature
    /// Shared by matches that replace each other; nil: all count.
    let mark: Int64?
    /// When the event was made, in seconds since 1970; of use with a mark alone.
    let madeAt: Int64

    package init(
        event: EventID,
        signal: Signal,
        mode: Mode,
        urgency: Urgency,
        expiresAt: Timestamp,
        pace: PushPace = .batch,
        nature: PushNature = .alert,
        mark: Int64? = nil,
        madeAt: Int64 = 0
    ) {
        self.event = event
        self.signal = signal
        self.mode = mode
        self.urgency = urgency
        self.expiresAt = expiresAt
        self.pace = pace
        self.nature = nature
        self.mark = mark
        self.madeAt = madeAt
    }
}

/// Why a device is not woken at once.
package enum HoldReason: String, Sendable, CaseIterable {
    /// The last push was a moment ago.
    case cooldown
    /// The window had its matches.
    case window
    /// The device's quiet hours.
    case quiet
    /// The day had its pushes.
    case cap
    /// The hour had its silent pushes.
    case silentBudget = "silent-budget"
    /// The last push has not found its end.
    case underWay = "under-way"
    /// The outbox has no capacity for its push service, or for the host it is at. So a device with a cooldown of 0 gets
    /// a push for each event while its push service keeps up, and batches while it does not.
    case behind

    /// The reason in words for an operator.
    package var words: String {
        switch self {
        case .cooldown: "the device was woken a moment ago"
        case .window: "the device was woken often in this window of time"
        case .quiet: "the device's quiet hours"
        case .cap: "the device has had its pushes of the day (UTC)"
        case .silentBudget: "the device has had its background pushes of the hour"
        case .underWay: "the last push to the device is under way"
        case .behind: "the push service is behind with what it has to take"
        }
    }
}

/// Why a delivery was made of what had been held, where the trace says elsewhere by which rule.
enum QueuedReason {
    static let held = "held before"
    /// The number of its events follows.
    static let batch = "batch of "
    /// How many there were follows.
    static let latest = "latest of "

    static func isOfHeld(_ reason: String) -> Bool { reason == held || reason.hasPrefix(batch) }

    static func size(_ count: Int, isLatest: Bool) -> String {
        count > 1 ? (isLatest ? latest : batch) + "\(count)" : ""
    }
}

extension PipelineStep {
    /// Whether that reason of ``queued`` means that something of the delivery was held before, so that other steps and
    /// perhaps other events belong to it.
    package static func isOfHeld(queuedReason reason: String) -> Bool { QueuedReason.isOfHeld(reason) }
}
