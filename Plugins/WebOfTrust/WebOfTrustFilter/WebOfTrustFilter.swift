public import PluginKit

/// Passes events of accounts that the recipient follows and, with `follows-of-follows`, of accounts that those follow.
///
/// Only the author counts; for a zap, its sender. `unknown` (default: pass) applies if the author is unknown, as in a
/// gift wrap, or if the recipient's contact list was not found. `undecided` applies if relays did not respond in time.
/// Default: drop, because otherwise many strangers at the same time would get through.
public final class WebOfTrustFilter: PluginFilter {
    public static let name: StaticString = "web-of-trust"
    public static var maxNeeded: FollowNeed { .distance }

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

    public func decide(_ call: borrowing FilterCall) -> FilterDecision {
        let signal = call.signal.string
        if settings.except.contains(signal) { return .pass }
        if let least = settings.liftingMillisats, call.zapMillisats >= least { return .pass }
        if call.author.isEmpty {
            return settings.unknown == .pass ? .pass : .drop(reason: "the author is unknown")
        }
        switch (call.followDistance, settings.level) {
        case (.followed, _), (.second, .followsOfFollows): return .pass
        case (.second, .follows), (.stranger, .follows), (.notFollowed, .follows):
            return .drop(reason: "the recipient does not follow the author")
        case (.stranger, .followsOfFollows):
            return .drop(reason: "no account the recipient follows follows the author")
        case (.notFollowed, .followsOfFollows):
            return settings.undecided == .pass
                ? .pass : .drop(reason: "no relay responded in time about the author's followers")
        case (.unknown, _):
            return settings.unknown == .pass ? .pass : .drop(reason: "the recipient's contact list is unknown")
        }
    }
}

/// The settings of the web of trust.
struct WebOfTrustSettings {
    enum Level: String, CaseIterable {
        case follows
        case followsOfFollows = "follows-of-follows"
    }

    enum Decision: String, CaseIterable {
        case pass
        case drop
    }

    let level: Level
    /// Signals that always pass.
    let except: Set<String>
    /// The decision if the author or the contact list is unknown.
    let unknown: Decision
    /// The decision if the recipient does not follow the author and relays did not respond in time.
    let undecided: Decision
    /// The minimum value of a zap that always passes, from any sender.
    let liftingMillisats: UInt64?

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: ["level", "except", "unknown", "undecided", "min_zap_sats"])
        guard let level = try object.choice("level", Level.self) else {
            throw PluginError("level: expected follows or follows-of-follows, found nothing")
        }
        self.level = level
        except = try object.signals("except")
        unknown = try object.choice("unknown", Decision.self) ?? .pass
        undecided = try object.choice("undecided", Decision.self) ?? .drop
        liftingMillisats = try object.satoshis("min_zap_sats")
    }
}
