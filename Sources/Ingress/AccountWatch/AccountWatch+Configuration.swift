import RelayPool

extension AccountWatch {
    /// Which relays are listened to for whom.
    package struct Configuration: Sendable {
        /// The operator's relays, at which everybody is watched. Default: none.
        package var always: [RelayURL] = []
        /// Whose word on users' own relays counts. Default: their relay lists'.
        package var perUser = RelaySource.nip65
        /// What a partner's hints (kind 20062) mean for direct subscriptions. Default: ``HintPolicy/also``.
        package var hints = HintPolicy.also
        /// How long after its last hint a partner counts as there, in milliseconds. Default: an hour.
        package var silentAfter: Int64 = 3_600_000
        /// Relays of one account's own choice at most; further ones are left out. Default: 8.
        package var relaysPerAccount = 8
        /// Relays that only users named at most; those that more accounts named come first. Default: 10,000.
        package var maxRelays = 10_000
        /// Of those at one host at most, however many spellings, paths and ports users find for it. Default: 64.
        package var relaysPerHost = 64
        /// How long changes are gathered before they are worked off, in milliseconds. Default: 200.
        package var coalescing: Int64 = 200
        /// How long is waited between two counts of which relays most accounts named, while these are more than
        /// ``maxRelays``, in milliseconds. Default: an hour.
        package var countInterval: Int64 = 3_600_000

        package init() {}
    }
}
