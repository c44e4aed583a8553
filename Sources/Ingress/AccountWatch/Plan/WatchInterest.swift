import RelayPool

/// What of a key somebody has watched, with what has to be remembered about it.
struct WatchInterest: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let addressed = WatchInterest(rawValue: 1)
    static let authored = WatchInterest(rawValue: 2)
    /// Would be ``addressed``, but partners' hints stand in for that.
    static let leftToPartners = WatchInterest(rawValue: 4)

    /// Every combination that relays are asked for.
    static let asked: [WatchInterest] = [
        .addressed, [.addressed, .authored], .authored, [.authored, .leftToPartners],
    ]

    /// What relays are asked for.
    var watched: Watched.Interest {
        var watched: Watched.Interest = []
        if contains(.addressed) { watched.insert(.addressed) }
        if contains(.authored) { watched.insert(.authored) }
        return watched
    }
}
