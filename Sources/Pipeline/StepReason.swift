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
