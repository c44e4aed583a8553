import PluginKit
import Units

/// What counts as noise. Settings that are absent are not checked.
struct NoiseSettings {
    /// Signals that always pass.
    let except: Set<String>
    /// The most people that an event may name.
    let hellthread: Int?
    /// The least that a zap must be worth, in thousandths of a satoshi.
    let leastZap: UInt64?
    /// The least value of zaps from people the recipient follows.
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

    /// Whether a setting depends on the recipient's contact list.
    var asksWhomRecipientsFollow: Bool {
        leastZap != leastZapFromFollows || (difficulty.isAny && !difficulty.countsForFollows)
    }
}

/// The proof of work that events need (NIP-13), by signal.
struct DifficultyDemand {
    /// A zap's receipt is made by a wallet and proves nothing about its sender.
    private static var zap: String { "zap" }
    private static var expected: String { "bits, a whole number from 0 to 256, or a mapping of signals to bits" }

    private let usual: Int
    private let bySignal: [String: Int]
    /// Whether people the recipient follows need proof of work, too.
    let countsForFollows: Bool

    init(_ object: JSONObject) throws(PluginError) {
        countsForFollows = try object.flag("difficulty_from_follows") ?? false
        guard let value = object["difficulty"], !value.isNull else {
            usual = 0
            bySignal = [:]
            return
        }
        guard let signals = value.object else {
            usual = try Self.bits(value, "difficulty")
            bySignal = [Self.zap: 0]
            return
        }
        var bySignal: [String: Int] = [:]
        for index in 0..<signals.count {
            let member = signals.member(at: index)
            guard member.key != Self.zap else {
                throw PluginError(
                    "difficulty.zap: a zap's receipt holds its wallet's work, expected min_zap_sats instead"
                )
            }
            guard SignalName.isPossible(member.key) else {
                throw PluginError("difficulty.\(member.key): expected signals such as mention, \(SignalName.form)")
            }
            bySignal[member.key] = try Self.bits(member.value, "difficulty.\(member.key)")
        }
        usual = 0
        self.bySignal = bySignal
    }

    /// Whether any event needs proof of work.
    var isAny: Bool { usual > 0 || bySignal.values.contains { $0 > 0 } }

    /// In bits; 0: none.
    func bits(for signal: String) -> Int { bySignal[signal] ?? usual }

    private static func bits(_ value: JSONValue, _ key: String) throws(PluginError) -> Int {
        guard let bits = value.integer, (0...256).contains(bits) else {
            throw PluginError("\(key): expected \(expected), found \(value.integer.map { "\($0)" } ?? value.kind)")
        }
        return Int(bits)
    }
}

/// How many events of one author reach one recipient in a span of time.
struct BurstLimit {
    let events: Int
    let span: Duration

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: ["events", "seconds"])
        guard let events = try object.integer("events", in: 1...100) else {
            throw PluginError("events: expected a whole number from 1 to 100, found nothing")
        }
        guard let seconds = try object.integer("seconds", in: 1...86_400) else {
            throw PluginError("seconds: expected a whole number from 1 to 86400, found nothing")
        }
        self.events = Int(events)
        span = .seconds(seconds)
    }
}
