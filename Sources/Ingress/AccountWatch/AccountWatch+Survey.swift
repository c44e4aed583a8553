import Logging
import Nostr
import Registry
import RelayPool
import Synchronization

extension AccountWatch {
    /// Compares what everybody wants watched with what is, and brings it in line. Without `isTold`, which is how it begins, relays know of
    /// nothing yet and are told all.
    func survey(_ desk: inout WatchDesk, isTold: Bool) throws {
        guard let relays = desk.relays else { return }
        let now = now()
        var wishes = try wishes(&desk, now: now)
        if desk.book.isCrowded, now >= desk.nextCount {
            desk.book.admit(by: try count(&desk))
            desk.nextCount = now + configuration.countInterval
            if desk.book.isCrowded { reportCrowding() }
            wishes = try self.wishes(&desk, now: now)
        }
        var announcer = WatchAnnouncer(relays, operators: desk.book.operators, most: 4_096, mark: mark)
        var comparison = WatchComparison(wishes, always: desk.book.always)
        let shared = try registry.readWatch { rows in
            let shared = isTold ? [] : try rows.sharedWatchKeys()
            var census = WatchCensus()
            try rows.forEachWatchRow { row in
                census.count(row)
                guard let held = comparison.next(row), !isTold else { return }
                Self.announce(held, &announcer, besides: shared, desk.book)
            }
            if let held = comparison.end(), !isTold { Self.announce(held, &announcer, besides: shared, desk.book) }
            if !isTold {
                desk.claims = census.claims
                for (relay, count) in census.rows { desk.book.count(relay, by: count) }
            }
            return shared
        }
        announcer.finish()
        var rest = comparison.differing[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.ownersAtOnce)
            try settle(some.map { ($0.owner, $0.wish.map { wishes[$0] }) }, &desk, isTold: isTold)
            rest = rest.dropFirst(some.count)
        }
        try sweep(&desk)
        try announce(shared, desk)
    }

    /// What everybody wants watched, in the order of the owners' bytes.
    private func wishes(_ desk: inout WatchDesk, now: Int64) throws -> [WatchWish] {
        var wishes: [WatchWish] = []
        var partnered: Set<PublicKey> = []
        try accounts.forEachWatchedAccount { account in
            wishes.append(desk.wish(of: account, now: now))
            if account.isPartnered, desk.hints.lastHint(for: account.key) != nil { partnered.insert(account.key) }
        }
        for root in try accounts.rootsOfInterest() { wishes.append(desk.wish(ofRoot: root, now: now)) }
        wishes.sort { $0.owner < $1.owner }
        if !partnered.isEmpty {
            for index in wishes.indices where partnered.contains(wishes[index].owner) {
                try consider(desk.hints, for: &wishes[index], now: now)
            }
        }
        return wishes
    }

    private func count(_ desk: inout WatchDesk) throws -> RelayCounts {
        var counts = RelayCounts(room: 4 * configuration.maxRelays)
        try accounts.forEachWatchedAccount { account in
            for relay in desk.choice(of: account) { counts.count(relay) }
        }
        return counts
    }

    private static func announce(
        _ rows: [WatchRow],
        _ announcer: inout WatchAnnouncer,
        besides shared: Set<PublicKey>,
        _ book: RelayBook
    ) {
        for row in rows where !shared.contains(row.key) {
            guard let relay = book[row.relay], let watched = KeyWatch(row).watched(row.key) else { continue }
            announcer.add(.put(watched), at: relay)
        }
    }

    /// Tells the relays of keys that several owners have watched, each once.
    private func announce(_ shared: Set<PublicKey>, _ desk: WatchDesk) throws {
        guard !shared.isEmpty, let relays = desk.relays else { return }
        var announcer = WatchAnnouncer(relays, operators: desk.book.operators, mark: mark)
        try registry.readWatch { rows in
            for key in shared.sorted() {
                var owners = OtherOwners(besides: nil, rows, exist: true)
                for relay in try rows.watchRelays(of: key) {
                    guard let url = desk.book[relay], let watched = try owners.watch(of: key, at: relay)?.watched(key)
                    else { continue }
                    announcer.add(.put(watched), at: url)
                }
            }
        }
        announcer.finish()
    }

    /// Forgets relays at which nothing is watched.
    private func sweep(_ desk: inout WatchDesk) throws {
        var book = desk.book
        let deserted = book.takeDeserted(among: book.all)
        guard !deserted.isEmpty else { return }
        try registry.writeWatch { rows in
            for relay in deserted { try rows.removeRelay(relay.number) }
        }
        desk.book = book
        inbox.withLock { $0.forget(deserted.map(\.url).filter { book[$0] == nil }) }
    }

    private func reportCrowding() {
        logger.warning(
            "Users name more relays than there is room for; those that most accounts name are listened to",
            metadata: ["relays": "\(configuration.maxRelays)", "at one host": "\(configuration.relaysPerHost)"]
        )
    }

    private static let ownersAtOnce = 10_000
}
