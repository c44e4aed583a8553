import Core
import Nostr
import Push

/// Loads match indexes and keeps them up to date. The caller owns its index. The feed that the index was loaded from
/// collects later changes.
struct IndexSource: Sendable {
    /// How long author lists are kept after the last account that refers to them is gone.
    private static let listMemory: Duration = .days(90)

    /// The feed for callers that name none.
    let allChanges = IndexFeed()
    private let feeds: IndexFeeds
    private let store: RegistryStore
    private let secrets: DeviceSecrets
    private let access: AccessControl
    private let lists: IdentityLists
    private let writer: RegistryWriter
    private let now: @Sendable () -> Timestamp

    /// `feeds` are those that `writer` posts to.
    init(
        store: RegistryStore,
        feeds: IndexFeeds,
        secrets: DeviceSecrets,
        access: AccessControl,
        lists: IdentityLists,
        writer: RegistryWriter,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.feeds, self.secrets, self.access) = (store, feeds, secrets, access)
        (self.lists, self.writer, self.now) = (lists, writer, now)
        feeds.add(allChanges)
    }

    /// See ``Registry/load(signals:languages:from:)``.
    func load(_ signals: [Signal], _ languages: [LanguageTag], from feed: IndexFeed) throws -> MatchIndex {
        let names = SignalNames(further: signals)
        let languages = LanguageNames(languages)
        var index = MatchIndex(signals: names)
        try store.write { rows in
            index = MatchIndex(signals: names, languages: languages, capacity: try rows.deviceCount())
            let access = access.list
            try rows.fill(&index, without: { access.isBlocked($0, for: $1) || !feed.includes($1) }) {
                try secrets.open(preferences: Array($1), of: $0)
            }
            let now = now()
            try rows.forgetLists(unneededSince: now - Self.listMemory)
            for (account, keys) in try rows.allMessageKeys(now: now) where feed.includes(account) {
                index.apply(.messageKeys(keys, of: account))
            }
        } afterwards: {
            // The rows just read contain every change posted so far.
            feeds.add(feed)
            _ = feed.take()
            feed.applied()
        }
        return index
    }

    /// See ``Registry/update(_:from:each:)``.
    func update(_ index: inout MatchIndex, from feed: IndexFeed, each: (IndexChange) -> Void) -> Int {
        lists.endGrace()
        let changes = feed.take()
        for change in changes {
            index.apply(change)
            each(change)
        }
        feed.applied()
        writer.report(Set(index.expire(now: now())))
        return changes.count
    }

    /// See ``Registry/rename(signals:languages:in:from:each:)``.
    func rename(
        _ signals: [Signal],
        _ languages: [LanguageTag],
        in index: inout MatchIndex,
        from feed: IndexFeed,
        each: (IndexChange) -> Void
    ) throws {
        let (further, locales) = try store.write { rows in
            (try rows.furtherSignals(), languages.isEmpty ? [] : try rows.locales())
        }
        _ = update(&index, from: feed, each: each)
        index.rename(signals: SignalNames(further: signals), languages: LanguageNames(languages))
        for (device, account, locale) in locales { index.speak(locale, to: device, of: account) }
        for (device, account, signals) in further { index.grant(signals, to: device, of: account) }
    }
}
