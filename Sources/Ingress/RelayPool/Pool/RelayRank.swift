/// Whose relay it is, and whether it is stayed connected to without any key.
struct RelayRank: Sendable, Equatable {
    /// Named by ``RelayPool/Configuration-swift.struct/operators``.
    var isConfigured = false
    /// Asked for by ``RelayPool/keep(_:)``.
    var isKept = false
    /// Said to be the operator's by whoever watches keys there.
    var isNamed = false

    /// Whether the configuration names it, so that it may be at a private address.
    var isOperators: Bool { isConfigured || isKept || isNamed }

    func changed(_ change: (inout RelayRank) -> Void) -> RelayRank {
        var rank = self
        change(&rank)
        return rank
    }
}
