import PluginKit

/// What an operator takes for noise; what is not set is not asked about.
struct NoiseSettings {
    /// Signals that always pass.
    let except: Set<String>
    /// The most people that an event may name.
    let hellthread: Int?
    /// The least that a zap must be worth, in thousandths of a satoshi.
    let leastZap: UInt64?
    /// The same for zaps of those whom the recipient follows.
    let leastZapFromFollows: UInt64?
    let difficulty: DifficultyDemand
    let burst: BurstLimit?

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: [
            "except", "hellthread", "min_zap_sats", "min_zap_sats_from_follows", "difficulty",
            "difficulty_from_follows", "burst",
        ])
        except = try object.signals("except")
        hellthread = try object.integer("hellthread", in: 1...100_000).map { Int($0) }
        leastZap = try object.satoshis("min_zap_sats")
        leastZapFromFollows = try object.satoshis("min_zap_sats_from_follows") ?? leastZap
        difficulty = try DifficultyDemand(object)
        burst = try object.mapping("burst", expected: "as in { events: 5, seconds: 60 }").map {
            object throws(PluginError) in
            do throws(PluginError) { return try BurstLimit(object) } catch { throw error.inside("burst") }
        }
    }

    /// Whether it matters whom the recipient follows.
    var asksWhomRecipientsFollow: Bool {
        leastZap != leastZapFromFollows || (difficulty.isAny && !difficulty.countsForFollows)
    }
}
