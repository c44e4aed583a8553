import Core
import Dispatch
import Logging
import Nostr
import Registry
import Synchronization

/// Decides which keys are watched at which relays, and remembers how far each was read.
///
///     let watch = try AccountWatch(registry: registry, configuration: configuration, now: now, logger: logger)
///     let pool = try RelayPool(…, delegate: …, mark: watch.mark, …)  // the delegate reports to `watch`
///     try watch.start(at: pool)
///     await pool.shutdown()
///     watch.shutdown()
///
/// Safe to call from any thread. Nothing blocks but ``start(at:)`` and ``shutdown()``. Who is watched where is on disk,
/// in the registry's database, and is brought in line with what accounts ask for; only what has to do with relays and
/// hints is in memory.
package final class AccountWatch: Sendable {
    /// Which relays are watched for which accounts.
    package struct Configuration: Sendable {
        /// The operator's relays, at which everybody is watched. Default: none.
        package var always: [RelayURL] = []
        /// Which source names users' own relays. Default: their relay lists.
        package var perUser = RelaySource.nip65
        /// What a partner's hints (kind 20062) mean for direct subscriptions. Default: ``HintPolicy/also``.
        package var hints = HintPolicy.also
        /// How long after its last hint a partner counts as active. Default: an hour.
        package var silentAfter: Duration = .hours(1)
        /// The most relays that one account may choose; further ones are left out. Default: 8.
        package var relaysPerAccount = 8
        /// The most relays that only users named. Relays that more accounts named come first. Default: 10,000.
        package var maxRelays = 10_000
        /// The most of them at one host, however many spellings, paths and ports users find for it. Default: 64.
        package var relaysPerHost = 64
        /// How long changes are collected before they are processed. Default: 200 milliseconds.
        package var coalescing: Duration = .milliseconds(200)
        /// While accounts name more than ``maxRelays`` relays, the time between two counts of which are named most.
        /// Default: an hour.
        package var countInterval: Duration = .hours(1)
        /// How relays are shared with other processes. None is read before ``AccountWatch/take(_:marks:then:)``, and
        /// ``HintPolicy/prefer`` is ``HintPolicy/also``, since hints come in elsewhere. Default: nil, all are read
        /// here.
        package var sharing: RelaySharing?

        package init() {}
    }

    private static let markDelay: Duration = .seconds(5)
    private static let retryDelay: Duration = .seconds(10)

    private let coalescing: Duration
    private let hints: HintPolicy
    private let worker: Mutex<WatchWorker>
    private let inbox: WatchInbox
    private let now: @Sendable () -> Timestamp
    private let schedule: @Sendable (_ span: Duration, _ action: @escaping @Sendable () -> Void) -> Void
    private let logger: Logger

    /// `schedule` runs an action once, after that span, on any thread and never before it returns. Throws a
    /// `RegistryStoreError`.
    package convenience init(
        registry: Registry,
        configuration: Configuration,
        now: @escaping @Sendable () -> Timestamp,
        schedule: @escaping @Sendable (_ span: Duration, _ action: @escaping @Sendable () -> Void) -> Void =
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
        now: @escaping @Sendable () -> Timestamp,
        schedule: @escaping @Sendable (_ span: Duration, _ action: @escaping @Sendable () -> Void) -> Void,
        logger: Logger
    ) throws {
        var configuration = configuration
        if configuration.sharing != nil, configuration.hints == .prefer { configuration.hints = .also }
        coalescing = configuration.coalescing
        hints = configuration.hints
        self.now = now
        self.schedule = schedule
        self.logger = logger
        inbox = try WatchInbox(registry, now: now)
        worker = Mutex(
            try WatchWorker(
                registry: registry,
                accounts: accounts,
                configuration: configuration,
                inbox: inbox,
                now: now,
                logger: logger
            )
        )
    }

    /// Reads who is registered and watches everybody. Call it once. Takes seconds with a million accounts. Throws a
    /// `RegistryStoreError`. Reports through the other functions before or meanwhile are not lost.
    package func start(at relays: any RelayWatching) throws {
        let blocked = inbox.withLock { $0.takeBlocked() }
        try worker.withLock { worker in
            if let blocked { worker.targets.choices.blocked = blocked }
            try worker.start(at: relays)
        }
        let now = now()
        wake(at: inbox.withLock { $0.open(now: now) })
    }

    /// Takes note that an account, a root of interest or a list of theirs came, changed or went.
    package func changed(_ keys: Set<PublicKey>) {
        guard !keys.isEmpty else { return }
        report(within: coalescing) { $0.batch.keys.formUnion(keys) }
    }

    /// Watches nobody at these relays from now on, but at the operator's. Replaces the former list.
    package func block(_ relays: BlockedRelays) {
        report(within: coalescing) { $0.batch.blocked = relays }
    }

    /// Takes note of a hint for `account` by one of its partners at `time`.
    package func heard(account: PublicKey, partner: PublicKey, at time: Timestamp) {
        guard hints == .prefer else { return }
        let hint = WatchInbox.Hint(account: account, partner: partner, time: time)
        report(within: coalescing) { $0.batch.hints.append(hint) }
    }

    /// Reads the relays of a part from now on. `marks` says up to when the last reader read them, in seconds since
    /// 1970, as far as it told. Calls `completion` once ``mark(of:)`` says so and the relays are told.
    package func take(_ part: Int, marks: [RelayURL: Int64], then completion: @escaping @Sendable () -> Void = {}) {
        let taken = WatchInbox.TakenPart(marks: marks, completion: completion)
        report(within: coalescing) { $0.batch.taken[part] = taken }
    }

    /// Reads the relays of a part no more. Calls `completion` once, on any thread, when their connections are closed
    /// and it was told how far they were read.
    package func leave(_ part: Int, then completion: @escaping @Sendable () -> Void) {
        let time = now()
        let (isOpen, wake) = inbox.withLock { inbox -> (Bool, Timestamp?) in
            guard inbox.leave(part, completion) else { return (false, nil) }
            return (true, inbox.wake(at: time))
        }
        if !isOpen { completion() }
        self.wake(at: wake)
    }

    /// Up to when everything that a relay had was dealt with, in seconds since 1970. Nil also for a mark in the future,
    /// from a wrong clock: nothing would be read. Cheap: reads memory.
    package func mark(of relay: RelayURL) -> Int64? { inbox.mark(of: relay) }

    /// Takes note that everything that `relay` had stored for these keys was read and dealt with.
    package func established(_ keys: [PublicKey], at relay: RelayURL) {
        report(within: coalescing) { $0.batch.established[relay, default: []] += keys }
    }

    /// Takes note that everything that `relay` had up to `moment`, in seconds since 1970, was read and dealt with.
    package func marked(_ relay: RelayURL, upTo moment: Int64) {
        // A late mark only means reading again what is remembered anyway.
        let latest = inbox.latestMark
        report(within: Self.markDelay) { $0.mark(relay, upTo: moment, believing: latest) }
    }

    /// Writes reports that are not written yet, and stops. Call it after the pool was shut down.
    package func shutdown() {
        let left = worker.withLock { worker -> [@Sendable () -> Void] in
            let batch = inbox.withLock { $0.close() }
            guard worker.isRunning else { return batch.left.values.flatMap(\.self) }
            do {
                try worker.stop(batch)
            } catch {
                logger.error("How far relays were read could not be written", metadata: ["error": "\(error)"])
            }
            return batch.left.values.flatMap(\.self)
        }
        for completion in left { completion() }
    }

    private func report(within span: Duration, _ body: (inout WatchInbox.State) -> Void) {
        let time = now() + span
        wake(
            at: inbox.withLock { inbox in
                body(&inbox)
                return inbox.wake(at: time)
            }
        )
    }

    private func wake(at time: Timestamp?) {
        guard let time else { return }
        schedule(max(.zero, time - now())) { [weak self] in self?.work(at: time) }
    }

    /// Without a `time` at once. Blocks.
    private func work(at time: Timestamp?) {
        let (next, taken): (Timestamp?, [@Sendable () -> Void]) = worker.withLock { worker in
            guard worker.isRunning, var batch = inbox.withLock({ $0.take(at: time) }) else { return (nil, []) }
            for (part, completions) in batch.left {
                worker.leave(part) { [weak self, schedule] in
                    // Not on the relays' event loops.
                    schedule(.zero) { [weak self] in
                        self?.work(at: nil)
                        for completion in completions { completion() }
                    }
                }
            }
            batch.left = [:]
            let taken = batch.taken.values.map(\.completion)
            do {
                return (try worker.work(&batch), taken)
            } catch {
                logger.error("Who is watched where could not be changed; trying again", metadata: ["error": "\(error)"])
                inbox.withLock { $0.restore(batch) }
                return (now() + Self.retryDelay, batch.taken.isEmpty ? taken : [])
            }
        }
        for completion in taken { completion() }
        guard let next else { return }
        wake(at: inbox.withLock { $0.wake(at: next) })
    }
}

/// What partners' wake-up hints (kind 20062) mean for the subscriptions on an account's behalf.
package enum HintPolicy: String, Sendable, Hashable, CaseIterable {
    /// Hints are not listened to.
    case ignore
    /// Hints wake, and so does what relays bring.
    case also
    /// An account with a partner that sent a hint lately is left to its partners; relays are not asked for it. Its rows
    /// stay on disk meanwhile. When its partners fall silent, relays are read for it from the last hint on. The mark of
    /// each of its relays goes back to that moment, because a mark speaks for all keys that are watched at a relay.
    case prefer
}

/// What an ``AccountWatch`` uses to watch keys.
package protocol RelayWatching: Sendable {
    /// Changes what is watched at one relay. `isOperators` says that the configuration names the relay, not only users.
    /// Must not block and must not call the watch back before it returns.
    func update(_ relay: RelayURL, _ changes: [WatchChange], isOperators: Bool)

    /// Watches nothing any more at the relays that `isLeft` names, and closes their connections in order. Calls
    /// `completion` once, on any thread and not before it returns, when what they read is dealt with.
    func leave(_ isLeft: @escaping @Sendable (RelayURL) -> Bool, then completion: @escaping @Sendable () -> Void)
}

extension RelayPool: RelayWatching {}

/// A serial queue on which an ``AccountWatch`` works.
package struct WatchQueue: Sendable {
    private let queue = DispatchQueue(label: "carillon account watch", qos: .utility)

    package init() {}

    /// Runs `action` once, after that span.
    package func schedule(_ span: Duration, _ action: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(max(0, span.milliseconds))), execute: action)
    }
}
