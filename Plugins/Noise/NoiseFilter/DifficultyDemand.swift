import PluginKit

/// How much work an event must hold (NIP-13), by signal.
struct DifficultyDemand {
    /// A zap's receipt is a wallet's event, which says nothing about its sender's work.
    private static var zap: String { "zap" }
    private static var expected: String { "bits, a whole number from 0 to 256, or a mapping of signals to bits" }

    private let usual: Int
    private let bySignal: [String: Int]
    /// Whether those whom the recipient follows must work too.
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

    /// Whether anything is demanded of anybody.
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
