import Logging
import Nostr
import Registry
import RelayPool
import Synchronization

/// Decides which keys are watched at which relays, and remembers how far each was read.
///
///     let watch = try AccountWatch(registry: registry, configuration: configuration, now: now, logger: logger)
///     let pool = try RelayPool(…, delegate: …, mark: watch.mark, …)  // the delegate reports to `watch`
///     try watch.start(at: pool)
///     await pool.shutdown()
///     watch.shutdown()
///
/// Safe to call from any thread. Nothing blocks but ``start(at:)`` and ``shutdown()``. Who is watched where is on disk, in the
/// registry's database, and is brought in line with what accounts ask for; only what has to do with relays and hints is in memory.
package final class AccountWatch: Sendable {
    let registry: Registry
    let accounts: any WatchedAccounts
    let configuration: Configuration
    let now: @Sendable () -> Int64
    let logger: Logger
    let desk: Mutex<WatchDesk>
    let inbox: Mutex<WatchInbox>
    private let schedule: @Sendable (_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) -> Void

    /// `now` is in milliseconds since 1970. `schedule` runs an action once, after so many milliseconds, on any thread and never
    /// before it returns. Throws a `RegistryStoreError`.
    package convenience init(
        registry: Registry,
        configuration: Configuration,
        now: @escaping @Sendable () -> Int64,
        schedule: @escaping @Sendable (_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) -> Void =
            WatchQueue().schedule,
        logger: Logger
    ) throws {
        try self.init(
            registry: registry,
            accounts: registry,
            configuration: configuration,
            now: now,
            schedule: schedule,
            logger: logger
        )
    }

    init(
        registry: Registry,
        accounts: any WatchedAccounts,
        configuration: Configuration,
        now: @escaping @Sendable () -> Int64,
        schedule: @escaping @Sendable (_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) -> Void,
        logger: Logger
    ) throws {
        self.registry = registry
        self.accounts = accounts
        self.configuration = configuration
        self.now = now
        self.schedule = schedule
        self.logger = logger
        let stored = try registry.readWatch { try $0.watchRelays() }
        let book = RelayBook(
            stored: stored,
            always: configuration.always,
            limit: configuration.maxRelays,
            perHost: configuration.relaysPerHost
        )
        let hints = HintLedger(silentAfter: configuration.silentAfter, granularity: Self.hintGranularity)
        let choice = RelayChoice(source: configuration.perUser, limit: configuration.relaysPerAccount)
        desk = Mutex(WatchDesk(book: book, hints: hints, choice: choice))
        var marks: [RelayURL: Int64] = [:]
        for relay in stored {
            if let url = book[relay.number] { marks[url] = relay.mark }
        }
        inbox = Mutex(WatchInbox(marks: marks))
    }

    /// Reads who is registered and has everybody watched, once. Takes seconds where there are a million accounts. Throws a
    /// `RegistryStoreError`. What is reported through the other functions before or meanwhile is not lost.
    package func start(at relays: any RelayWatching) throws {
        try desk.withLock { desk in
            desk.relays = relays
            try survey(&desk, isTold: false)
        }
        let now = now()
        come(at: inbox.withLock { $0.open(now: now) })
    }

    /// Takes note that an account, a root of interest or a list of theirs came, changed or went.
    package func changed(_ keys: Set<PublicKey>) {
        guard !keys.isEmpty else { return }
        report(within: configuration.coalescing) { $0.change(keys) }
    }

    /// Takes note of a hint for `account` by one of its partners, `time` in milliseconds since 1970.
    package func heard(account: PublicKey, partner: PublicKey, at time: Int64) {
        guard configuration.hints == .prefer else { return }
        let hint = WatchInbox.Hint(account: account, partner: partner, time: time)
        report(within: configuration.coalescing) { $0.hear(hint) }
    }

    /// Up to when everything that a relay had was dealt with, in seconds since 1970. Nil also for a mark that a wrong clock set ahead
    /// of now: who believed it would read nothing. Cheap: reads memory.
    package func mark(of relay: RelayURL) -> Int64? {
        let latest = latestMark
        return inbox.withLock { $0.marks[relay].flatMap { $0 <= latest ? $0 : nil } }
    }

    /// Takes note that everything that `relay` had stored for these keys was read and dealt with.
    package func established(_ keys: [PublicKey], at relay: RelayURL) {
        report(within: configuration.coalescing) { $0.establish(keys, at: relay) }
    }

    /// Takes note that everything that `relay` had up to `moment`, in seconds since 1970, was read and dealt with.
    package func marked(_ relay: RelayURL, upTo moment: Int64) {
        // An older mark costs no more than reading again what is remembered anyway.
        let latest = latestMark
        report(within: Self.markDelay) { $0.mark(relay, upTo: moment, believing: latest) }
    }

    /// Marks beyond it were set while the clock was wrong.
    private var latestMark: Int64 { now() / 1000 + Self.markTolerance }

    /// Writes what was taken note of and not yet written, and does nothing more. To be called when the pool was shut down.
    package func shutdown() {
        desk.withLock { desk in
            let batch = inbox.withLock { inbox in
                inbox.close()
                return inbox.takeAll()
            }
            guard desk.relays != nil else { return }
            desk.relays = nil
            do {
                try record(batch, &desk)
            } catch {
                logger.error("How far relays were read could not be written", metadata: ["error": "\(error)"])
            }
        }
    }

    private func report(within milliseconds: Int64, _ body: (inout WatchInbox) -> Void) {
        let time = now() + milliseconds
        come(
            at: inbox.withLock { inbox in
                body(&inbox)
                return inbox.wake(at: time)
            }
        )
    }

    private func come(at time: Int64?) {
        guard let time else { return }
        schedule(max(0, time - now())) { [weak self] in self?.work(at: time) }
    }

    private func work(at time: Int64) {
        let next: Int64? = desk.withLock { desk in
            guard desk.relays != nil, var batch = inbox.withLock({ $0.take(at: time) }) else { return nil }
            do {
                return try work(&batch, &desk)
            } catch {
                logger.error("Who is watched where could not be changed; trying again", metadata: ["error": "\(error)"])
                inbox.withLock { $0.restore(batch) }
                return now() + Self.retryDelay
            }
        }
        guard let next else { return }
        come(at: inbox.withLock { $0.wake(at: next) })
    }

    static let hintGranularity: Int64 = 600_000
    private static let markDelay: Int64 = 5_000
    /// In seconds; less than relays are read over again in any case.
    private static let markTolerance: Int64 = 600
    private static let retryDelay: Int64 = 10_000
}
