import Logging
import Nostr
import Registry
import RelayPool
import Synchronization

extension AccountWatch {
    /// Works reports off. Returns when to come again without any, in milliseconds since 1970; nil when there is no need.
    /// What cannot be repeated when it throws has been turned into what can, in `batch`.
    func work(_ batch: inout WatchInbox.Batch, _ desk: inout WatchDesk) throws -> Int64? {
        let now = now()
        for hint in batch.hints where desk.hints.hear(hint.account, hint.partner, at: hint.time, now: now) {
            batch.keys.insert(hint.account)
        }
        batch.hints = []
        batch.keys.formUnion(desk.hints.silenced(now: now))
        try record(batch, &desk)
        batch.established = [:]
        batch.marked = [:]
        var rest = Array(batch.keys)[...]
        while !rest.isEmpty {
            let keys = rest.prefix(Self.transactionSize)
            try settle(keys.map { ($0, try wish(for: $0, &desk, now: now)) }, &desk, isTold: true)
            for key in keys { desk.hints.forget(key, now: now) }
            rest = rest.dropFirst(keys.count)
        }
        if desk.book.isCrowded, now >= desk.nextCount { try survey(&desk, isTold: true) }
        let next = [desk.hints.nextDeadline, desk.book.isCrowded ? desk.nextCount : nil].compactMap { $0 }.min()
        // Not for too long, for the system's clock may be set meanwhile.
        return next.map { min($0, now + Self.longestSleep) }
    }

    /// Writes how far relays were read.
    func record(_ batch: WatchInbox.Batch, _ desk: inout WatchDesk) throws {
        for (url, keys) in batch.established {
            guard let relay = desk.book[url] else { continue }
            // Rows are in the order of keys, and so fewer pages are written at a time.
            var rest = keys.sorted()[...]
            while !rest.isEmpty {
                let some = rest.prefix(Self.transactionSize)
                let accounts = try registry.writeWatch { rows in
                    try some.filter { key in
                        guard let interest = try rows.establish(key, at: relay) else { return false }
                        return WatchInterest(rawValue: interest).contains(.addressed)
                    }
                }
                if !accounts.isEmpty { try self.accounts.markFollowsRead(Set(accounts)) }
                rest = rest.dropFirst(some.count)
            }
            let name = desk.book.operators.contains(url) ? url.text : "one of a user's"
            logger.debug("Read what a relay had stored", metadata: ["keys": "\(keys.count)", "relay": "\(name)"])
        }
        let marks = batch.marked.compactMap { url, mark in desk.book[url].map { ($0, mark) } }
        // A relay says how far it was read also when it is left, and is forgotten by then.
        if marks.count < batch.marked.count {
            let forgotten = batch.marked.keys.filter { desk.book[$0] == nil }
            inbox.withLock { $0.forget(forgotten) }
        }
        guard !marks.isEmpty else { return }
        var book = desk.book
        try registry.writeWatch { rows in
            try Self.save(&book, rows)
            for (relay, mark) in marks { try rows.mark(relay, upTo: mark) }
        }
        desk.book = book
    }

    private static func save(_ book: inout RelayBook, _ rows: RegistryRows) throws {
        for number in book.unsaved.sorted() {
            if let url = book[number] { try rows.put(StoredRelay(number: number, url: url.text, mark: nil)) }
        }
        book.saved()
    }

    /// Brings rows in line with wishes in one transaction, and then tells the relays. With `isTold` they know of the rows there are.
    func settle(_ wishes: [(owner: PublicKey, wish: WatchWish?)], _ desk: inout WatchDesk, isTold: Bool) throws {
        guard let relays = desk.relays else { return }
        var book = desk.book
        var claims = desk.claims
        var resumed: [RelayURL: Int64] = [:]
        var announcer = WatchAnnouncer(relays, operators: book.operators, mark: mark)
        let deserted = try registry.writeWatch { rows in
            try Self.save(&book, rows)
            var left: Set<RelayNumber> = []
            for (owner, wish) in wishes {
                var others = OtherOwners(besides: owner, rows, exist: claims > 0)
                let plan = try WatchPlan(
                    from: rows.watchRows(of: owner),
                    to: wish,
                    always: book.always,
                    isTold: isTold
                ) { try others.watch(of: $0, at: $1) }
                for row in plan.removed { try rows.remove(row) }
                for row in plan.put { try rows.put(row) }
                for step in plan.steps {
                    if let url = book[step.relay] { announcer.add(step.change, at: url) }
                }
                for (relay, difference) in plan.balance {
                    book.count(relay, by: difference)
                    if difference < 0 { left.insert(relay) }
                }
                for (relay, moment) in plan.resumed {
                    guard let url = book[relay], mark(of: url) ?? .min > moment else { continue }
                    resumed[url] = min(moment, resumed[url] ?? moment)
                }
                claims += plan.claims
            }
            for (url, moment) in resumed {
                if let relay = book[url] { try rows.mark(relay, upTo: moment) }
            }
            let deserted = book.takeDeserted(among: left)
            for relay in deserted { try rows.removeRelay(relay.number) }
            return deserted
        }
        desk.book = book
        desk.claims = claims
        let forgotten = deserted.map(\.url).filter { book[$0] == nil }
        if !forgotten.isEmpty || !resumed.isEmpty {
            inbox.withLock { inbox in
                inbox.forget(forgotten)
                inbox.resume(resumed)
            }
        }
        announcer.finish()
    }

    /// What is to be watched for `key`; nil when nothing is.
    private func wish(for key: PublicKey, _ desk: inout WatchDesk, now: Int64) throws -> WatchWish? {
        guard let account = try accounts.watchedAccount(key) else {
            return try accounts.concerns(key) ? desk.wish(ofRoot: key, now: now) : nil
        }
        var wish = desk.wish(of: account, now: now)
        if account.isPartnered { try consider(desk.hints, for: &wish, now: now) }
        return wish
    }

    /// Leaves an account, every device of which lists partners, to these if each has one that was heard lately.
    func consider(_ hints: HintLedger, for wish: inout WatchWish, now: Int64) throws {
        guard configuration.hints == .prefer, let lastHint = hints.lastHint(for: wish.owner) else { return }
        let devices = try accounts.partners(of: wish.owner).values
        wish.isLeftToPartners =
            !devices.isEmpty
            && devices.allSatisfy { hints.isHeard(wish.owner, throughAnyOf: $0, now: now) }
        // What concerned the device whose partners fell silent first was not told since.
        let lastHints = devices.compactMap { hints.lastHint(for: wish.owner, throughAnyOf: $0) }
        wish.lastHint = (lastHints.min() ?? lastHint) / 1000
    }

    private static let transactionSize = 1_000
    private static let longestSleep: Int64 = 60_000
}
