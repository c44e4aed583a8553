extension RegistrationDesk {
    /// What becomes of the other slots that hold the same token.
    package enum TokenRuling: Hashable, Sendable {
        /// They lose it, or there are none.
        case take(from: [RegisteredDevice])
        /// One of them has it by a later registration, which this one, arriving late, must not undo.
        case leave
    }

    /// A phone on which somebody else signs in keeps its token: the last registration has it, unless that says
    /// `shared`. Whoever knows a token may take it, for nothing in it tells whose it is; and whoever has the phone takes it back
    /// with the next registration, since what is dated ahead counts as of when it came. `now` is in milliseconds since 1970.
    package func rule(on holders: [RegisteredDevice], mark: SlotMark, shared: Bool, now: Int64) -> TokenRuling {
        if shared { return .take(from: []) }
        let claimedAt = min(mark.createdAt, now / 1000)
        if holders.contains(where: { $0.claimedAt > claimedAt }) { return .leave }
        return .take(from: holders)
    }
}
