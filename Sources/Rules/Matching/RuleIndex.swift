/// Which rules are for a kind at all, in their order.
struct RuleIndex: Sendable {
    private let byKind: [UInt16: [Int]]
    /// For the kinds that no rule names.
    private let others: [Int]

    init(_ rules: [Rule]) {
        let named = rules.reduce(into: Set<UInt16>()) { $0.formUnion($1.match.kinds ?? []) }
        byKind = Dictionary(
            uniqueKeysWithValues: named.map { kind in
                (kind, rules.indices.filter { rules[$0].match.kinds?.contains(kind) ?? true })
            }
        )
        others = rules.indices.filter { rules[$0].match.kinds == nil }
    }

    /// Places in the list of rules.
    subscript(kind: UInt16) -> [Int] { byKind[kind] ?? others }
}
