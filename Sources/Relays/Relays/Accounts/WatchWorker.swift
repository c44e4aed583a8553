import Core
import Logging
import Nostr
import Registry

/// Brings the watches, on disk and at the relays, in line with the accounts. Used by one thread at a time.
struct WatchWorker {
    private static let ownersAtOnce = 10_000
    private static let transactionSize = 1_000
    private static let longestSleep: Duration = .minutes(1)

    private let registry: Registry
    private let accounts: any WatchedAccounts
    private let configuration: AccountWatch.Configuration
    private let inbox: WatchInbox
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    /// Nil before the start and after the end.
    private var relays: (any RelayWatching)?
    private var book: RelayBook
    var targets: WatchTargets
    /// The number of rows whose key is not their owner's. If zero, no other owner watches an owner's key.
    private var claims = 0
    private var reading: SharedReading
    /// Relays are not counted again before this time.
    private var nextCount = Timestamp.epoch

    init(
        registry: Registry,
        accounts: any WatchedAccounts,
        configuration: AccountWatch.Configuration,
        inbox: WatchInbox,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        self.registry = registry
        self.accounts = accounts
        self.configuration = configuration
        self.inbox = inbox
        self.now = now
        self.logger = logger
        reading = SharedReading(configuration.sharing, registry: registry)
        book = RelayBook(
            stored: try registry.readWatch { try $0.watchRelays() },
            always: configuration.always,
            limit: configuration.maxRelays,
            perHost: configuration.relaysPerHost
        )
        targets = WatchTargets(of: accounts, configuration)
    }

    var isRunning: Bool { relays != nil }

    /// Watches all accounts at these relays. Call it once.
    mutating func start(at relays: any RelayWatching) throws {
        self.relays = relays
        try survey(relaysKnow: false)
    }

    /// Writes the reported progress and stops.
    mutating func stop(_ batch: WatchInbox.Batch) throws {
        relays = nil
        try record(batch)
    }

    // MARK: Reports

    /// Processes reports. Returns when to call again if no report arrives; nil if not needed. If this throws, `batch`
    /// holds the reports to process again.
    mutating func work(_ batch: inout WatchInbox.Batch) throws -> Timestamp? {
        let now = self.now()
        batch.keys.formUnion(targets.receive(batch.hints, now: now))
        batch.hints = []
        try record(batch)
        batch.established = [:]
        batch.marked = [:]
        try reading.shareForgotten()
        if !batch.taken.isEmpty {
            try take(batch.taken)
            batch.taken = [:]
        }
        if let blocked = batch.blocked {
            targets.choices.blocked = blocked
            try survey(relaysKnow: true)
            batch.blocked = nil
        }
        var rest = Array(batch.keys)[...]
        while !rest.isEmpty {
            let keys = rest.prefix(Self.transactionSize)
            try settle(keys.map { ($0, try targets.target(for: $0, in: &book, now: now)) }, relaysKnow: true)
            targets.settled(keys, now: now)
            rest = rest.dropFirst(keys.count)
        }
        try reading.shareForgotten()
        if book.isCrowded, now >= nextCount { try survey(relaysKnow: true) }
        let next = [targets.hints.nextCheck, book.isCrowded ? nextCount : nil].compactMap { $0 }.min()
        // Limited, because the system's clock may be changed while waiting.
        return next.map { min($0, now + Self.longestSleep) }
    }

    /// Writes reading progress.
    private mutating func record(_ batch: WatchInbox.Batch) throws {
        for (url, keys) in batch.established {
            guard let relay = self.book[url] else { continue }
            // Rows are sorted by key, so this touches fewer pages at a time.
            var rest = keys.sorted()[...]
            while !rest.isEmpty {
                let some = rest.prefix(Self.transactionSize)
                let (accounts, read) = try registry.writeWatch { rows in
                    let accounts = try some.filter { key in
                        guard let interest = try rows.establish(key, at: relay) else { return false }
                        return WatchInterest(rawValue: interest).contains(.addressed)
                    }
                    return (accounts, try reading.read(some, at: relay, url, rows))
                }
                try reading.share(read)
                if !accounts.isEmpty { try self.accounts.markFollowsRead(Set(accounts)) }
                rest = rest.dropFirst(some.count)
            }
            let name = self.book.operators.contains(url) ? url.text : "a user's relay"
            logger.debug("Read the stored events of a relay", metadata: ["keys": "\(keys.count)", "relay": "\(name)"])
        }
        let marks = batch.marked.compactMap { url, mark in self.book[url].map { ($0, mark) } }
        // A relay also reports when it is left, and may be forgotten by then.
        if marks.count < batch.marked.count {
            let forgotten = batch.marked.keys.filter { self.book[$0] == nil }
            inbox.withLock { $0.forget(forgotten) }
        }
        guard !marks.isEmpty else { return }
        var book = book
        try registry.writeWatch { rows in
            try Self.save(&book, rows)
            for (relay, mark) in marks { try rows.mark(relay, upTo: mark) }
        }
        self.book = book
        reading.mark(batch.marked.filter { self.book[$0.key] != nil }.mapValues { $0 })
    }

    private static func save(_ book: inout RelayBook, _ rows: RegistryRows) throws {
        for number in book.unsaved.sorted() {
            if let url = book[number] { try rows.put(StoredRelay(number: number, url: url.text, mark: nil)) }
        }
        book.saved()
    }

    /// Brings rows in line with targets in one transaction, and then updates the relays. With `relaysKnow` they already
    /// have the existing rows.
    private mutating func settle(_ targets: [(owner: PublicKey, target: WatchTarget?)], relaysKnow: Bool) throws {
        guard let relays else { return }
        var book = book
        var claims = claims
        var resumed: [RelayURL: Int64] = [:]
        var announcer = announcer(relays)
        let reading = reading
        var forgotten: [ReadKey] = []
        let deserted = try registry.writeWatch { rows in
            forgotten = []
            try Self.save(&book, rows)
            var left: Set<RelayNumber> = []
            for (owner, target) in targets {
                var others = OtherOwners(besides: owner, rows, exist: claims > 0)
                let plan = try WatchPlan(
                    from: rows.watchRows(of: owner),
                    to: target,
                    always: book.always,
                    relaysKnow: relaysKnow,
                    others: { try others.watch(of: $0, at: $1) },
                    wasRead: { place in
                        try book[place.relay].map { try reading.wasRead(place, at: $0, rows) } ?? false
                    }
                )
                for row in plan.removed { try rows.remove(row) }
                for row in plan.put { try rows.put(row) }
                for step in plan.steps {
                    guard let url = book[step.relay] else { continue }
                    announcer.add(step.change, at: url)
                    if let key = try reading.unread(by: step.change, at: url, rows) { forgotten.append(key) }
                }
                for (relay, difference) in plan.balance {
                    book.count(relay, by: difference)
                    if difference < 0 { left.insert(relay) }
                }
                for (relay, moment) in plan.resumed {
                    guard let url = book[relay], inbox.mark(of: url) ?? .min > moment else { continue }
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
        self.book = book
        self.claims = claims
        self.reading.forget(forgotten)
        forget(deserted.map(\.url).filter { book[$0] == nil })
        if !resumed.isEmpty { inbox.withLock { $0.resume(resumed) } }
        announcer.finish()
    }

    // MARK: All accounts

    /// Compares all targets with all rows, and brings the rows in line. Without `relaysKnow`, as at the start, the
    /// relays have no watches yet and receive everything.
    private mutating func survey(relaysKnow: Bool) throws {
        guard let relays else { return }
        let now = self.now()
        var targets = try self.targets.all(in: &book, now: now)
        if book.isCrowded, now >= nextCount {
            book.admit(by: try count())
            nextCount = now + configuration.countInterval
            if book.isCrowded { reportCrowding() }
            targets = try self.targets.all(in: &book, now: now)
        }
        var announcer = announcer(relays, most: 4_096)
        var comparison = WatchComparison(targets, always: book.always)
        let shared = try registry.readWatch { rows in
            let shared = relaysKnow ? [] : try rows.sharedWatchKeys()
            var claims = 0
            var counts: [RelayNumber: Int] = [:]
            try rows.forEachWatchRow { row in
                counts[row.relay, default: 0] += 1
                if row.key != row.owner { claims += 1 }
                guard let held = comparison.next(row), !relaysKnow else { return }
                Self.announce(held, &announcer, besides: shared, book)
            }
            if let held = comparison.end(), !relaysKnow { Self.announce(held, &announcer, besides: shared, book) }
            if !relaysKnow {
                self.claims = claims
                for (relay, count) in counts { book.count(relay, by: count) }
            }
            return shared
        }
        announcer.finish()
        var rest = comparison.differing[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.ownersAtOnce)
            try settle(some.map { ($0.owner, $0.target.map { targets[$0] }) }, relaysKnow: relaysKnow)
            rest = rest.dropFirst(some.count)
        }
        try sweep()
        try announce(shared)
    }

    private mutating func count() throws -> RelayCounts {
        var counts = RelayCounts(room: 4 * configuration.maxRelays)
        try accounts.forEachWatchedAccount { account in
            for relay in targets.choice(of: account, besides: book.operators) { counts.count(relay) }
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

    /// Sends keys that several owners watch to the relays, each once.
    private func announce(_ shared: Set<PublicKey>) throws {
        guard !shared.isEmpty, let relays else { return }
        var announcer = announcer(relays)
        try announce(shared, &announcer)
        announcer.finish()
    }

    private func announce(_ shared: Set<PublicKey>, _ announcer: inout WatchAnnouncer) throws {
        try registry.readWatch { rows in
            for key in shared.sorted() {
                var owners = OtherOwners(besides: nil, rows, exist: true)
                for relay in try rows.watchRelays(of: key) {
                    guard let url = book[relay], let watched = try owners.watch(of: key, at: relay)?.watched(key)
                    else { continue }
                    announcer.add(.put(watched), at: url)
                }
            }
        }
    }

    private func announcer(_ relays: any RelayWatching, most: Int = .max) -> WatchAnnouncer {
        WatchAnnouncer(
            relays,
            operators: book.operators,
            most: most,
            mark: { [inbox] in inbox.mark(of: $0) },
            reads: reading.includes
        )
    }

    /// Forgets relays at which no key is watched.
    private mutating func sweep() throws {
        var book = book
        let deserted = book.takeDeserted(among: book.all)
        guard !deserted.isEmpty else { return }
        try registry.writeWatch { rows in
            for relay in deserted { try rows.removeRelay(relay.number) }
        }
        self.book = book
        forget(deserted.map(\.url).filter { book[$0] == nil })
    }

    /// Forgets relays at which no key is watched any longer. They may be named again.
    private func forget(_ relays: [RelayURL]) {
        guard !relays.isEmpty else { return }
        inbox.withLock { $0.forget(relays) }
        reading.mark(Dictionary(relays.filter(reading.includes).map { ($0, nil) }) { $1 })
    }

    private func reportCrowding() {
        logger.warning(
            "Users named more relays than the limit; only those that most accounts named are used",
            metadata: ["relays": "\(configuration.maxRelays)", "at one host": "\(configuration.relaysPerHost)"]
        )
    }

    // MARK: Relays that several processes share

    /// Stops watching at the relays of a part. Calls `completion` when all read events are processed.
    mutating func leave(_ part: Int, then completion: @escaping @Sendable () -> Void) {
        guard let relays, reading.isShared else { return completion() }
        reading.leave(part)
        relays.leave({ [reading] in reading.part(of: $0) == part }, then: completion)
    }

    /// Watches all accounts at the relays of these parts, continuing at the last readers' marks.
    private mutating func take(_ parts: [Int: WatchInbox.TakenPart]) throws {
        guard let relays, reading.isShared else { return }
        var marks: [RelayURL: Int64] = [:]
        for part in parts.values { marks.merge(part.marks) { $1 } }
        var book = book
        let taken = Set(book.all.filter { book[$0].flatMap(reading.part(of:)).map { parts[$0] != nil } ?? false })
        let shared = try registry.writeWatch { rows in
            try Self.save(&book, rows)
            for (url, mark) in marks { try book[url].map { try rows.mark($0, upTo: mark) } }
            return taken.isEmpty ? [] : try rows.sharedWatchKeys()
        }
        self.book = book
        inbox.withLock { $0.adopt(marks) }
        reading.take(parts.keys)
        guard !taken.isEmpty else { return }
        var announcer = announcer(relays, most: 4_096)
        var unshared: [ReadKey] = []
        try registry.readWatch { rows in
            try rows.forEachWatchRow { row in
                guard taken.contains(row.relay), let url = book[row.relay] else { return }
                if !shared.contains(row.key), let watched = KeyWatch(row).watched(row.key) {
                    announcer.add(.put(watched), at: url)
                }
                if let key = try reading.unshared(row, at: url, rows) { unshared.append(key) }
            }
        }
        try announce(shared, &announcer)
        announcer.finish()
        var rest = unshared[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.transactionSize)
            try reading.share(Array(some))
            rest = rest.dropFirst(some.count)
        }
    }
}
