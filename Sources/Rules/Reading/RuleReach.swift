import YAMLReading

/// Which rules never decide anything, as others before them take all of their events.
///
/// Certain only where all rules could be read as they are meant.
enum RuleReach {
    /// `values` are where `rules` stand in their files.
    static func check(_ rules: [Rule], _ values: [YAMLValue]) {
        checkBehindEverything(rules, values)
        checkKinds(rules, values)
    }

    /// Notes the first rule behind one without conditions.
    private static func checkBehindEverything(_ rules: [Rule], _ values: [YAMLValue]) {
        guard let last = rules.firstIndex(where: \.match.isForEverything), last + 1 < values.count else { return }
        values[last + 1].mistake(
            "no event gets here: the rule '\(rules[last].name)' (\(place(of: values[last]))) has no conditions, so every "
                + "event stops there"
        )
    }

    /// Notes each rule whose kinds others of its own file take whole. Those of another file it is meant to take: an
    /// operator's own rules stand before common ones.
    private static func checkKinds(_ rules: [Rule], _ values: [YAMLValue]) {
        var takers: [UInt16: Int] = [:]
        for (index, rule) in rules.enumerated() {
            if index > 0, values[index].file !== values[index - 1].file { takers = [:] }
            guard let kinds = rule.match.kinds else { continue }
            if let taker = kinds.compactMap({ takers[$0] }).max(), kinds.allSatisfy({ takers[$0] != nil }) {
                let all = kinds.sorted().map(String.init).joined(separator: ", ")
                values[index].mistake(
                    "no event gets here: up to the rule '\(rules[taker].name)' (\(place(of: values[taker]))) all events of "
                        + "kind \(all) are taken; rules with further conditions go before"
                )
            }
            guard rule.match.takesAllOfItsKinds else { continue }
            for kind in kinds { takers[kind] = takers[kind] ?? index }
        }
    }

    private static func place(of value: YAMLValue) -> String { "\(value.file.name):\(value.line)" }
}
