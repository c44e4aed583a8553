extension RegistrationDesk {
    /// What becomes of the other slots that hold the same token.
    package enum TokenRuling: Hashable, Sendable {
        /// They lose it, or there are none.
        case take(from: [TokenHolder])
        /// One of them has it by a later registration, which this one, arriving late, must not undo.
        case leave
    }

    /// A phone on which somebody else signs in keeps its token: the last registration has it, unless that says
    /// `shared`.
    package func rule(on holders: [TokenHolder], mark: SlotMark, shared: Bool) -> TokenRuling {
        if shared { return .take(from: []) }
        if holders.contains(where: { $0.mark.replaces(mark) }) { return .leave }
        return .take(from: holders)
    }
}
