import Notifications

/// The kinds that the match stage makes something of by itself.
package enum KnownKinds {
    /// Those that have a signal whatever the rules say.
    package static let withSignal = withRelation.union(withoutRelation)

    /// Those that are a reply, a quote or a mention to whom they name, as are all kinds that Carillon knows nothing about.
    private static let withRelation: Set<UInt16> = [1, 1111, 1808]

    /// Messages, contact lists, reactions, reposts and zaps.
    package static let withoutRelation: Set<UInt16> = [3, 4, 6, 7, 14, 16, 1059, 1809, 9735, 21059]

    static let zap: UInt16 = 9735

    /// The kinds that the match stage may take for `signal` by itself.
    static func kinds(of signal: Signal) -> Set<UInt16> {
        switch signal {
        case .dm: [4, 14, 1059, 21059]
        case .mention, .reply: withRelation
        case .reaction: [7]
        case .repost: [6, 16, 1809]
        case .follow: [3]
        case .zap: [zap]
        default: []
        }
    }
}
