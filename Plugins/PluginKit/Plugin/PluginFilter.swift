internal import CarillonABI

/// Decides of events whether they may wake somebody.
///
/// Conforming is the whole of a filter plugin's work; the C ABI around it is ``PluginDescriptor``'s. Every method may
/// be called on any thread, several at once, and must return promptly: events wait for it.
///
/// The whole of a filter that lets through what comes in with a zap:
///
/// ```swift
/// func decide(_ call: borrowing FilterCall) -> FilterVerdict {
///     call.zapMillisats > 0 ? .pass : .drop(reason: "no zap")
/// }
/// ```
public protocol PluginFilter: AnyObject, Sendable {
    /// What the configuration and registrations call it, such as `mutes`: unique among a router's filters.
    static var name: StaticString { get }

    /// The replaceable events of the recipient that it looks at, such as 10000. The default wants none.
    static var wantedKinds: [UInt32] { get }

    /// The most that any instance needs to know about the recipient's follows. The default is nothing.
    static var mostNeeded: FollowNeed { get }

    /// Whether it is asked once the notification is made, and may change that. The default is asked before.
    static var isAskedAfterRendering: Bool { get }

    /// Reads the filter's settings. No network; reading files that they name is fine.
    ///
    /// Throws a ``PluginError`` that names the key and says what was expected, and never a secret.
    init(configuration: JSONObject, host: Host) throws(PluginError)

    /// What this instance needs to know about the recipient's follows, at most ``mostNeeded``, which is the default.
    var need: FollowNeed { get }

    /// Decides. Throws when it cannot; the operator's `on_error` says what happens then.
    func decide(_ call: borrowing FilterCall) throws(PluginError) -> FilterVerdict
}

extension PluginFilter {
    /// None: a filter that asks for no lists of recipients.
    public static var wantedKinds: [UInt32] { [] }
    /// Nothing: a filter that does not ask about follows.
    public static var mostNeeded: FollowNeed { .nothing }
    /// False: a filter that looks at the event, not at what the rules make of it.
    public static var isAskedAfterRendering: Bool { false }
    /// The most that filters of this sort ever need.
    public var need: FollowNeed { Self.mostNeeded }
}

/// What a filter makes of an event.
public enum FilterVerdict: Sendable, Hashable {
    case pass
    /// It wakes nobody. `reason` is for the router's log and trace: at most 60 printable ASCII characters, never
    /// content.
    case drop(reason: String)
}

/// What a filter needs to know about the recipient's follows; the router finds it out before the call.
public enum FollowNeed: Sendable {
    case nothing
    /// Whether the recipient follows the author.
    case followed
    /// Also whether somebody the recipient follows does. The router may have to ask relays; the event waits meanwhile.
    case distance

    var flags: UInt32 {
        switch self {
        case .nothing: 0
        case .followed: UInt32(CARILLON_FILTER_ASKS_FOLLOWED)
        case .distance: UInt32(CARILLON_FILTER_ASKS_DISTANCE)
        }
    }
}

/// How near the author of an event is to its recipient.
public enum FollowDistance: Sendable {
    /// The router did not find out.
    case unknown
    /// The recipient follows the author, or is the author.
    case followed
    /// Somebody the recipient follows does.
    case second
    case stranger
    /// The recipient does not. Whether somebody the recipient follows does is unknown.
    case notFollowed

    init(_ distance: carillon_follow_distance) {
        switch distance {
        case .CARILLON_DISTANCE_UNKNOWN: self = .unknown
        case .CARILLON_DISTANCE_FOLLOWED: self = .followed
        case .CARILLON_DISTANCE_SECOND: self = .second
        case .CARILLON_DISTANCE_STRANGER: self = .stranger
        case .CARILLON_DISTANCE_NOT_FOLLOWED: self = .notFollowed
        @unknown default: self = .unknown
        }
    }
}
