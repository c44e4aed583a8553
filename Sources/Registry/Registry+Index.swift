import Nostr
import Notifications

extension Registry {
    /// For how long lists are remembered of those who have nothing to do with any account now, in milliseconds: 90 days.
    private static let listMemory: Int64 = 90 * 86_400_000

    /// Reads all devices into an index. `signals` are those that the operator's rules raise besides the well-known
    /// ones, `languages` those that they speak.
    ///
    /// Writers wait meanwhile. What changes later arrives through ``update(_:)``. There is to be one index at a time.
    package func load(signals: [Signal] = [], languages: [LanguageTag] = []) throws -> MatchIndex {
        let names = SignalNames(further: signals)
        let languages = LanguageNames(languages)
        var index = MatchIndex(signals: names)
        try store.write { rows in
            index = MatchIndex(signals: names, languages: languages, capacity: try rows.deviceCount())
            try rows.fill(&index) { try vault.openWishes(Array($1), of: $0, zones) }
            let now = now()
            try rows.forgetLists(unneededSince: now - Self.listMemory)
            for (account, keys) in try rows.allMessageKeys(now: now) {
                index.apply(.messageKeys(keys, of: account))
            }
        } afterwards: {
            // Everything posted so far is in what was just read.
            _ = mailbox.take()
        }
        return index
    }

    /// Brings an index up to date, and takes out former keys for messages whose time has run out; returns how many changes of the
    /// registry that took. Cheap when there are none.
    ///
    /// `each` is called with each of them, after the index knows of it.
    @discardableResult
    package func update(_ index: inout MatchIndex, each: (IndexChange) -> Void = { _ in }) -> Int {
        endDeviceGrace()
        let changes = mailbox.take()
        for change in changes {
            index.apply(change)
            each(change)
        }
        let accounts = index.expire(now: now())
        if !accounts.isEmpty { changed(Set(accounts)) }
        return changes.count
    }

    /// Makes an index count with other rules: `signals` are those they raise besides the well-known ones,
    /// `languages` those that they speak. `each` learns of the changes that the index is brought up to date with.
    package func rename(
        signals: [Signal],
        languages: [LanguageTag] = [],
        in index: inout MatchIndex,
        each: (IndexChange) -> Void = { _ in }
    ) throws {
        let (further, locales) = try store.write { rows in
            (try rows.furtherSignals(), languages.isEmpty ? [] : try rows.locales())
        }
        update(&index, each: each)
        index.rename(signals: SignalNames(further: signals), languages: LanguageNames(languages))
        for (device, account, locale) in locales { index.speak(locale, to: device, of: account) }
        for (device, account, signals) in further { index.grant(signals, to: device, of: account) }
    }
}
