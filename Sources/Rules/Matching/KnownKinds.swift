/// The kinds that the match stage makes something of by itself.
package enum KnownKinds {
    /// Those that have a signal whatever the rules say.
    package static let withSignal = withRelation.union(withoutRelation)

    /// Those that are a reply, a quote or a mention to whom they name, as are all kinds that Carillon knows nothing about.
    private static let withRelation: Set<UInt16> = [1, 1111, 1808]

    /// Messages, contact lists, reactions, reposts and zaps.
    package static let withoutRelation: Set<UInt16> = [3, 4, 6, 7, 14, 16, 1059, 1809, 9735, 21059]

    static let zap: UInt16 = 9735
}
