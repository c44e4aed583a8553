/// Why an event went no further, or that it did: one word each, fit for a metric's label.
package enum PipelineStep: String, Sendable, CaseIterable {
    // The gate.

    /// No event: not JSON, or a field is not what NIP-01 says.
    case malformed
    /// The id or the signature is wrong.
    case forged
    /// Accepted before; for a registration also that a newer one was.
    case duplicate
    /// Concerns no registered account.
    case unaddressed
    /// Asked for, and learned from.
    case fetched

    // What is addressed to the router.

    /// A registration changed something.
    case registered
    /// A registration changed nothing.
    case registrationRefused = "registration-refused"
    /// Registering takes a NIP-46 session, and its author has none.
    case noSession = "no-session"
    /// A list of relays or devices is the newest one now.
    case learned
    /// A list of relays or devices that cannot be taken.
    case listRefused = "list-refused"
    /// A deletion (kind 5 or 62) took something back; of an event, that its author did so.
    case deleted
    /// A NIP-46 request was handed over.
    case request
    /// A hint that says nothing, is dated too far from now, or names a crowd.
    case hintStale = "hint-stale"
    /// Nothing proves that the hint's sender speaks for a partner.
    case hintUnproven = "hint-unproven"
    /// A hint of a partner who gives too many.
    case hintLimited = "hint-limited"

    // What names an account.

    /// Stored before anybody listened for it.
    case baseline
    /// Its NIP-40 expiration has passed.
    case expired
    /// It is dated further ahead than senders' clocks are fast. It is taken when it comes again in its time.
    case ahead
    /// It is the recipient's own doing.
    case own
    /// Names the recipient, but is about somebody else's event (NIP-25).
    case notTarget = "not-target"
    /// A zap receipt that cannot be believed (NIP-57).
    case invalidZap = "invalid-zap"
    /// A contact list that named the recipient before.
    case knownFollow = "known-follow"
    /// No rule is for it.
    case unmatched
    /// A rule drops it.
    case dropped
    /// It happened before the device was registered.
    case beforeRegistration = "before-registration"
    /// A filter drops it.
    case filtered
    /// The device's filters switch its signal off.
    case unwanted
    /// A value of the rule came out unfit for its key, and the device's platform refuses a push without it.
    case withheld
    /// The push goes without values of its rule that came out unfit for their keys.
    case valueLeftOut = "value-left-out"
    /// It shows nothing, and the device's platform can only show.
    case silent
    /// A delivery was kept for a device.
    case queued
    /// It waits for the device's time: a cooldown, a window, quiet hours, the next day, the end of a push under way, or
    /// capacity in the outbox.
    case held
    /// It waits, or went, as one push with others.
    case batched
    /// The device's time came; the reason says of how many events the push is, if it is of several.
    case released
    /// A held group goes on as part of an older one; the reason is the delivery of that one.
    case joined
    /// It was held for a device that is no longer registered.
    case left
    /// It waits a moment for a name or a note that a text refers to.
    case waiting
    /// It could not be kept: the disk refused.
    case notKept = "not-kept"

    /// Whether it only adds a detail.
    package var isRemark: Bool { self == .valueLeftOut }

    /// Whether it is worth keeping where it is about no account in particular. A busy relay causes a hundred thousand
    /// of the others a second.
    package var isTraced: Bool {
        switch self {
        case .malformed, .duplicate, .unaddressed, .fetched: false
        default: true
        }
    }
}

extension PipelineStep {
    /// The step in words for an operator; `reason` is the one that was noted with it.
    package func words(_ reason: String) -> String {
        let known = StepReason(rawValue: reason)?.words ?? reason
        let because = reason.isEmpty ? "" : ": \(known)"
        return switch self {
        case .malformed: "refused: it is no event"
        case .forged: "refused: the id or the signature of this copy is wrong"
        case .duplicate: "passed over: \(reason.isEmpty ? "it came before" : known)"
        case .unaddressed: "concerns nobody here"
        case .fetched: "fetched for what it says, which wakes nobody"
        case .registered: "registration taken\(because)"
        case .registrationRefused: "registration refused\(because)"
        case .noSession: "registration refused: registering here takes a NIP-46 session"
        case .learned: "taken as the newest list of its author"
        case .listRefused: "list refused\(because)"
        case .deleted: "deleted by its author\(because)"
        case .request: "a NIP-46 request, which was answered"
        case .hintStale: "not sent: the hint says nothing, is dated too far from now, or names a crowd"
        case .hintUnproven: "not sent: nothing proves that the hint's sender speaks for one of the recipient's partners"
        case .hintLimited: "not sent: this partner gives too many hints"
        case .baseline: "not sent: it was there before anybody listened for it"
        case .expired: "not sent: it had expired (NIP-40)"
        case .ahead: "refused: it is dated too far ahead; it is taken when it comes again in its time"
        case .own: "not sent: it is the recipient's own doing"
        case .notTarget: "not sent: it names the recipient, but is about somebody else's event"
        case .invalidZap: "not sent: the zap receipt cannot be believed\(because)"
        case .knownFollow: "not sent: the recipient was on this author's list before"
        case .unmatched: "not sent: no rule is for it"
        case .dropped: "not sent: the rule '\(reason)' drops it"
        case .beforeRegistration: "not sent: it happened before the device was registered"
        case .filtered: "not sent: dropped by the filter \(reason)"
        case .unwanted: "not sent: the device's filters switch \(Self.several(reason)) off"
        case .withheld: "not sent: the event gives no fitting value for \(reason), which has to be there"
        case .valueLeftOut: "goes without \(reason), for which the event gives no fitting value"
        case .silent: "not sent: it is silent, and \(reason) can only show what it gets"
        case .queued: "to be sent, \(Self.origin(reason))"
        case .held: "held: \(Self.obstacle(reason))"
        case .batched where reason.isEmpty: "goes together with others, as one push"
        case .batched: "held together with others, to be one push: \(Self.obstacle(reason))"
        case .released where reason.isEmpty: "the device's time has come"
        case .released where reason.hasPrefix(QueuedReason.latest):
            "the device's time has come: it goes as the \(reason)"
        case .released: "the device's time has come: it goes in a \(reason)"
        case .joined: "goes on together with others, as one push"
        case .left: "not sent: the device left while it was held"
        case .waiting: "waits a moment for a name or a note that its text speaks of"
        case .notKept: "not kept: the disk refused; it is taken when it comes again"
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

    private static func obstacle(_ reason: String) -> String { HoldReason(rawValue: reason)?.words ?? reason }

    /// What a signal is about, in the plural.
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

/// Why a step was taken, where that is one of a few things: one word each.
///
/// Other steps have reasons of their own: a ``HoldReason``, the name of a rule or a filter, a signal, a platform.
package enum StepReason: String, Sendable, CaseIterable {
    // Registrations and lists.

    case newDevice = "new-device"
    case deviceAnew = "device-anew"
    case deregistered
    /// A deregistration with a key that the device is no longer registered to.
    case formerKey = "former-key"
    /// The device's key stands in no list of its user's yet.
    case unlisted
    case known
    /// Known, and what it registered has ended since.
    case ended
    case outdated
    /// Another registration of the same push target is dated later.
    case superseded
    case notForUs = "not-for-us"

    // Events.

    /// The zap was told with another receipt.
    case zapKnown = "zap-known"
    case whileHeld = "while-held"
    /// It is a deletion, which took events back.
    case tookBack = "took-back"

    package var words: String {
        switch self {
        case .newDevice: "a new device"
        case .deviceAnew: "a device anew"
        case .deregistered: "deregistered"
        case .formerKey: "a deregistration with a key that the device is no longer registered to"
        case .unlisted: "waits until the root's kind 10050 lists its key"
        case .known: "taken before"
        case .ended: "taken before, and no longer in force"
        case .outdated: "a newer one is known"
        case .superseded: "its push target has a registration of a later date"
        case .notForUs: "not for this router"
        case .zapKnown: "the zap was told before"
        case .whileHeld: "while it was held"
        case .tookBack: "its author took events back"
        }
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
