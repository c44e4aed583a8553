/// Which rules are for a kind at all, in their order.
struct RuleIndex: Sendable {
    private let byKind: [UInt16: [Rule]]
    /// For the kinds that no rule names.
    private let others: [Rule]

    init(_ rules: [Rule]) {
        let named = rules.reduce(into: Set<UInt16>()) { $0.formUnion($1.match.kinds ?? []) }
        byKind = Dictionary(
            uniqueKeysWithValues: named.map { kind in
                (kind, rules.filter { $0.match.kinds?.contains(kind) ?? true })
            }
        )
        others = rules.filter { $0.match.kinds == nil }
    }

    subscript(kind: UInt16) -> [Rule] { byKind[kind] ?? others }
}
