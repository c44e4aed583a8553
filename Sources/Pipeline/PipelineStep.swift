/// Where the processing of an event stopped, or that it continued. Each raw value is one word, fit for a metric label.
package enum PipelineStep: String, Sendable, CaseIterable {
    // The gate.

    /// Not an event: invalid JSON, or a field that violates NIP-01.
    case malformed
    /// The id or the signature is wrong.
    case forged
    /// It was accepted before, or is a registration older than a known one.
    case duplicate
    /// It concerns no registered account.
    case unaddressed
    /// It was requested as context.
    case fetched

    // Events to the router.

    /// A registration changed something.
    case registered
    /// A registration changed nothing.
    case registrationRefused = "registration-refused"
    /// Registering requires a NIP-46 session, and its author has none.
    case noSession = "no-session"
    /// A list of relays or devices was stored as the newest one.
    case learned
    /// A list of relays or devices was not accepted.
    case listRefused = "list-refused"
    /// A deletion (kind 5 or 62) took something back, or the event was taken back by its author.
    case deleted
    /// A NIP-46 request was answered.
    case request
    /// A hint without content, with a date too far from now, or with too many recipients.
    case hintStale = "hint-stale"
    /// The hint's sender cannot prove to be a partner.
    case hintUnproven = "hint-unproven"
    /// The partner sends too many hints.
    case hintLimited = "hint-limited"

    // Events that name an account.

    /// It was stored on the relay before the router subscribed.
    case baseline
    /// Its NIP-40 expiration has passed.
    case expired
    /// It is dated too far ahead, beyond usual clock errors. It is accepted if it arrives again later.
    case ahead
    /// The recipient is its author.
    case own
    /// It names the recipient, but is about another author's event (NIP-25).
    case notTarget = "not-target"
    /// An invalid zap receipt (NIP-57).
    case invalidZap = "invalid-zap"
    /// A contact list that already named the recipient.
    case knownFollow = "known-follow"
    /// No rule matches it.
    case unmatched
    /// A rule drops it.
    case dropped
    /// It happened before the device was registered.
    case beforeRegistration = "before-registration"
    /// A filter drops it.
    case filtered
    /// The device's registration switches its signal off.
    case unwanted
    /// A value of the rule is invalid for its key, and the device's platform refuses a push without it.
    case withheld
    /// The push is sent without values of its rule that are invalid for their keys.
    case valueLeftOut = "value-left-out"
    /// It shows nothing, and the device's platform can only show notifications.
    case silent
    /// A delivery to a device was stored.
    case queued
    /// It is held by the device's pace: a cooldown, a window, quiet hours, the daily limit, a push in progress, or the
    /// capacity of the outbox.
    case held
    /// It is held, or was sent, together with others as one push.
    case batched
    /// The hold ended. If the push is about several events, the reason contains their number.
    case released
    /// A held group became part of an older one; the reason is that group's delivery.
    case joined
    /// It was held for a device that is no longer registered.
    case left
    /// It waits for a name or a note in its texts.
    case waiting
    /// It was not stored: the disk refused it.
    case notKept = "not-kept"

    /// Whether it only adds a detail.
    package var isRemark: Bool { self == .valueLeftOut }

    /// Whether to trace it even if it names no account. A busy relay causes a hundred thousand of the others each
    /// second.
    package var isTraced: Bool {
        switch self {
        case .malformed, .duplicate, .unaddressed, .fetched: false
        default: true
        }
    }
}

extension PipelineStep {
    /// The step as text for an operator; `reason` is the one noted with it.
    package func words(_ reason: String) -> String {
        let known = StepReason(rawValue: reason)?.words ?? reason
        let because = reason.isEmpty ? "" : ": \(known)"
        return switch self {
        case .malformed: "refused: not a valid event"
        case .forged: "refused: the id or the signature of this copy is wrong"
        case .duplicate: "skipped: \(reason.isEmpty ? "received before" : known)"
        case .unaddressed: "no recipient is registered here"
        case .fetched: "fetched as context; sends no notification"
        case .registered: "registration accepted\(because)"
        case .registrationRefused: "registration refused\(because)"
        case .noSession: "registration refused: registering here requires a NIP-46 session"
        case .learned: "stored as its author's newest list"
        case .listRefused: "list refused\(because)"
        case .deleted: "deleted by its author\(because)"
        case .request: "NIP-46 request answered"
        case .hintStale: "not sent: the hint has no content, too many recipients, or a date too far from now"
        case .hintUnproven: "not sent: the hint's sender is not proven to be one of the recipient's partners"
        case .hintLimited: "not sent: this partner sends too many hints"
        case .baseline: "not sent: it was stored before the router subscribed to it"
        case .expired: "not sent: it had expired (NIP-40)"
        case .ahead: "refused: dated too far in the future; it can be accepted when it arrives again later"
        case .own: "not sent: the recipient caused it"
        case .notTarget: "not sent: it names the recipient, but is about another author's event"
        case .invalidZap: "not sent: the zap receipt is invalid\(because)"
        case .knownFollow: "not sent: the recipient was on this author's list before"
        case .unmatched: "not sent: no rule matches it"
        case .dropped: "not sent: the rule '\(reason)' drops it"
        case .beforeRegistration: "not sent: it happened before the device was registered"
        case .filtered: "not sent: dropped by the filter \(reason)"
        case .unwanted: "not sent: the device's filters switch \(Self.several(reason)) off"
        case .withheld: "not sent: the event has no valid value for \(reason), which is required"
        case .valueLeftOut: "sent without \(reason), because the event has no valid value for it"
        case .silent: "not sent: it is silent, and \(reason) can only show what it gets"
        case .queued: "to be sent, \(Self.origin(reason))"
        case .held: "held: \(Self.postponement(reason))"
        case .batched where reason.isEmpty: "sent together with others, as one push"
        case .batched: "held together with others, for one push: \(Self.postponement(reason))"
        case .released where reason.isEmpty: "no longer held"
        case .released where reason.hasPrefix(QueuedReason.latest):
            "no longer held: sent as the \(reason)"
        case .released: "no longer held: sent in a \(reason)"
        case .joined: "continues together with others, as one push"
        case .left: "not sent: the device was removed while it was held"
        case .waiting: "waits briefly for a name or a note in its text"
        case .notKept: "not stored: the disk refused; it can be accepted later"
        }
    }

    private static func origin(_ reason: String) -> String {
        switch reason {
        case "hint": "as a partner's hint"
        case QueuedReason.held: "after it was held"
        case let batch where batch.hasPrefix(QueuedReason.batch): "in a \(batch)"
        default: "by the rule '\(reason)'"
        }
    }

    private static func postponement(_ reason: String) -> String { HoldReason(rawValue: reason)?.words ?? reason }

    /// The plural name of a signal's events.
    private static func several(_ signal: String) -> String {
        switch signal {
        case "dm": "direct messages"
        case "mention", "reaction", "repost", "zap": signal + "s"
        case "reply": "replies"
        case "follow": "new followers"
        default: "the signal '\(signal)'"
        }
    }
}

/// The reason of a step, if it is one of a fixed set. Each raw value is one word.
///
/// Other steps use a ``HoldReason``, or the name of a rule, a filter, a signal or a platform as their reason.
package enum StepReason: String, Sendable, CaseIterable {
    // Registrations and lists.

    case newDevice = "new-device"
    case deviceReregistered = "device-anew"
    case deregistered
    /// A deregistration with a key that the device is no longer registered to.
    case formerKey = "former-key"
    /// The device's key is not in a list of its user yet.
    case unlisted
    case known
    /// It is known, and its registration has ended since.
    case ended
    case outdated
    /// Another registration of the same push target has a later date.
    case superseded
    case notForUs = "not-for-us"

    // Events.

    /// Another receipt of the zap was processed before.
    case zapKnown = "zap-known"
    case whileHeld = "while-held"
    /// It is a deletion that took events back.
    case tookBack = "took-back"

    package var words: String {
        switch self {
        case .newDevice: "a new device"
        case .deviceReregistered: "a device registered again"
        case .deregistered: "deregistered"
        case .formerKey: "a deregistration with a key that the device is no longer registered to"
        case .unlisted: "waits until the root's kind 10050 lists its key"
        case .known: "accepted before"
        case .ended: "accepted before, and no longer active"
        case .outdated: "a newer one is known"
        case .superseded: "its push target has a later registration"
        case .notForUs: "not for this router"
        case .zapKnown: "the zap was processed before"
        case .whileHeld: "while it was held"
        case .tookBack: "its author took events back"
        }
    }
}

/// Why a push to a device is held.
package enum HoldReason: String, Sendable, CaseIterable {
    /// The cooldown after the last push.
    case cooldown
    /// The window's limit is reached.
    case window
    /// The device's quiet hours.
    case quiet
    /// The daily limit is reached.
    case cap
    /// The hourly limit of silent pushes is reached.
    case backgroundBudget = "background-budget"
    /// The last push is still in progress.
    case underWay = "under-way"
    /// The outbox has no capacity for its push service, or for its endpoint's host. A device with a cooldown of 0 thus
    /// gets single pushes while its push service keeps up, and batches while it does not.
    case behind

    /// The reason as text for an operator.
    package var words: String {
        switch self {
        case .cooldown: "the device was notified a moment ago"
        case .window: "the device was notified often in this time window"
        case .quiet: "the device's quiet hours"
        case .cap: "the device has reached its daily cap (UTC)"
        case .backgroundBudget: "the device has reached its hourly limit of background pushes"
        case .underWay: "the last push to the device is in progress"
        case .behind: "the push service is behind with its queue"
        }
    }
}

/// Why a delivery was made from held events: the reason of ``PipelineStep/queued``. The rule is in earlier steps of the
/// trace.
package enum QueuedReason {
    static let held = "held before"
    /// The number of its events follows.
    static let batch = "batch of "
    /// The number of its events follows.
    static let latest = "latest of "

    /// Whether the delivery was held before. If so, other steps and perhaps other events belong to it.
    package static func isOfHeld(_ reason: String) -> Bool { reason == held || reason.hasPrefix(batch) }

    static func size(_ count: Int, isLatest: Bool) -> String {
        count > 1 ? (isLatest ? latest : batch) + "\(count)" : ""
    }
}
