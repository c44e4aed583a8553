public import PluginKit

/// Lets wake the recipient whom the recipient follows, or those follow.
///
/// Only the author counts, the sender of a zap. Who cannot be told, as behind a gift wrap, or where nobody has the recipient's
/// contact list, is for `unknown` to say; and where relays do not tell in time who follows the author, `undecided`. That is to drop, or
/// strangers need only be many to get through.
public final class WebOfTrustFilter: PluginFilter {
    public static let name: StaticString = "web-of-trust"
    public static var mostNeeded: FollowNeed { .distance }

    private let settings: WebOfTrustSettings

    public init(configuration: JSONObject, host: Host) throws(PluginError) {
        settings = try WebOfTrustSettings(configuration)
    }

    public var need: FollowNeed {
        switch settings.level {
        case .follows: .followed
        case .followsOfFollows: .distance
        }
    }

    public func decide(_ call: borrowing FilterCall) -> FilterVerdict {
        let signal = call.signal.string
        if settings.except.contains(signal) { return .pass }
        if let least = settings.liftingMillisats, call.zapMillisats >= least { return .pass }
        if call.author.isEmpty {
            return settings.unknown == .pass ? .pass : .drop(reason: "nobody can tell who the author is")
        }
        switch (call.followDistance, settings.level) {
        case (.followed, _), (.second, .followsOfFollows): return .pass
        case (.second, .follows), (.stranger, .follows), (.notFollowed, .follows):
            return .drop(reason: "the recipient does not follow the author")
        case (.stranger, .followsOfFollows):
            return .drop(reason: "nobody the recipient follows follows the author")
        case (.notFollowed, .followsOfFollows):
            return settings.undecided == .pass
                ? .pass : .drop(reason: "no relay told in time who follows the author")
        case (.unknown, _):
            return settings.unknown == .pass ? .pass : .drop(reason: "whom the recipient follows is not known")
        }
    }
}
