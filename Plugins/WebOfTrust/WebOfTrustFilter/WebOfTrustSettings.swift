import PluginKit

/// What an operator says of the web of trust.
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
    /// What becomes of authors of whom it cannot be told.
    let unknown: Decision
    /// What becomes of authors whom the recipient does not follow, and of whom relays did not tell in time who does.
    let undecided: Decision
    /// A zap of at least that much passes, whoever sends it.
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
