import Core
import Dispatch
import Logging
import Nostr
import Registry
import Synchronization

/// Decides which keys are watched at which relays, and stores up to when each relay was read.
///
///     let watch = try AccountWatch(registry: registry, configuration: configuration, now: now, logger: logger)
///     let pool = try RelayPool(…, delegate: …, mark: watch.mark, …)  // the delegate reports to `watch`
///     try watch.start(at: pool)
///     await pool.shutdown()
///     watch.shutdown()
///
/// Safe to call from any thread. Only ``start(at:)`` and ``shutdown()`` block. The watched keys are stored in the
/// registry's database and follow the accounts' choices; only data about relays and hints is in memory.
package final class AccountWatch: Sendable {
    /// The settings for watching accounts at relays.
    package struct Configuration: Sendable {
        /// The operator's relays, at which all accounts are watched. Default: none.
        package var always: [RelayURL] = []
        /// The source of users' own relays. Default: their relay lists.
        package var perUser = RelaySource.nip65
        /// The effect of a partner's hints (kind 20062) on direct subscriptions. Default: ``HintPolicy/also``.
        package var hints = HintPolicy.also
        /// How long a partner counts as active after its last hint. Default: an hour.
        package var silentAfter: Duration = .hours(1)
        /// The maximum number of relays that one account may choose; more are ignored. Default: 8.
        package var relaysPerAccount = 8
        /// The maximum number of relays that only users named. Relays that more accounts named have priority. Default:
        /// 10,000.
        package var maxRelays = 10_000
        /// The maximum number of those relays at one host, for all spellings, paths and ports. Default: 64.
        package var relaysPerHost = 64
        /// How long changes are collected before they are processed. Default: 200 milliseconds.
        package var coalescing: Duration = .milliseconds(200)
        /// While accounts name more than ``maxRelays`` relays, the time between two counts of the most-named ones.
        /// Default: an hour.
        package var countInterval: Duration = .hours(1)
        /// How relays are shared with other processes. If set, no relay is read before
        /// ``AccountWatch/take(_:marks:then:)``, and ``HintPolicy/prefer`` becomes ``HintPolicy/also``, because other
        /// processes receive the hints. Default: nil, all relays are read here.
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
            AccountWatch.serialSchedule(),
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

    /// Reads the registered accounts and watches all of them. Call it once. Takes seconds with a million accounts.
    /// Throws a `RegistryStoreError`. Reports through the other functions before or during the call are kept.
    package func start(at relays: any RelayWatching) throws {
        let blocked = inbox.withLock { $0.takeBlocked() }
        try worker.withLock { worker in
            if let blocked { worker.targets.choices.blocked = blocked }
            try worker.start(at: relays)
        }
        let now = now()
        wake(at: inbox.withLock { $0.open(now: now) })
    }

    /// Returns a `schedule` that runs actions on its own serial queue.
    package static func serialSchedule() -> @Sendable (Duration, @escaping @Sendable () -> Void) -> Void {
        let queue = DispatchQueue(label: "carillon account watch", qos: .utility)
        return { span, action in
            queue.asyncAfter(deadline: .now() + .milliseconds(Int(max(0, span.milliseconds))), execute: action)
        }
    }

    /// Notes that an account, a root of interest or one of their lists was added, changed or removed.
    package func changed(_ keys: Set<PublicKey>) {
        guard !keys.isEmpty else { return }
        report(within: coalescing) { $0.batch.keys.formUnion(keys) }
    }

    /// Stops watching at these relays, except at the operator's. Replaces the former list.
    package func block(_ relays: BlockedRelays) {
        report(within: coalescing) { $0.batch.blocked = relays }
    }

    /// Notes a hint for `account` from one of its partners at `time`.
    package func heard(account: PublicKey, partner: PublicKey, at time: Timestamp) {
        guard hints == .prefer else { return }
        let hint = WatchInbox.Hint(account: account, partner: partner, time: time)
        report(within: coalescing) { $0.batch.hints.append(hint) }
    }

    /// Starts reading the relays of a part. `marks` are the last reader's marks, in seconds since 1970, if known. Calls
    /// `completion` once ``mark(of:)`` returns them and the relays have their watches.
    package func take(_ part: Int, marks: [RelayURL: Int64], then completion: @escaping @Sendable () -> Void = {}) {
        let taken = WatchInbox.TakenPart(marks: marks, completion: completion)
        report(within: coalescing) { $0.batch.taken[part] = taken }
    }

    /// Stops reading the relays of a part. Calls `completion` once, on any thread, when their connections are closed
    /// and their marks are reported.
    package func leave(_ part: Int, then completion: @escaping @Sendable () -> Void) {
        let time = now()
        let (isOpen, wake) = inbox.withLock { inbox -> (Bool, Timestamp?) in
            guard inbox.leave(part, completion) else { return (false, nil) }
            return (true, inbox.wake(at: time))
        }
        if !isOpen { completion() }
        self.wake(at: wake)
    }

    /// Returns the second, since 1970, up to which all events of a relay were processed. Nil if the mark is in the
    /// future, from a wrong clock, because no event would be read. Cheap: reads memory.
    package func mark(of relay: RelayURL) -> Int64? { inbox.mark(of: relay) }

    /// Notes that all stored events of `relay` for these keys were read and processed.
    package func established(_ keys: [PublicKey], at relay: RelayURL) {
        report(within: coalescing) { $0.batch.established[relay, default: []] += keys }
    }

    /// Notes that all events of `relay` up to `moment`, in seconds since 1970, were read and processed.
    package func marked(_ relay: RelayURL, upTo moment: Int64) {
        // If a mark is written late, remembered events are read again, which is harmless.
        let latest = inbox.latestMark
        report(within: Self.markDelay) { $0.mark(relay, upTo: moment, believing: latest) }
    }

    /// Writes pending reports and stops. Call it after the pool has shut down.
    package func shutdown() {
        let left = worker.withLock { worker -> [@Sendable () -> Void] in
            let batch = inbox.withLock { $0.close() }
            guard worker.isRunning else { return batch.left.values.flatMap(\.self) }
            do {
                try worker.stop(batch)
            } catch {
                logger.error("Failed to save how far relays were read", metadata: ["error": "\(error)"])
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

    /// Processes reports that are due at `time`, or all of them immediately if it is nil. Blocks.
    private func work(at time: Timestamp?) {
        let (next, taken): (Timestamp?, [@Sendable () -> Void]) = worker.withLock { worker in
            guard worker.isRunning, var batch = inbox.withLock({ $0.take(at: time) }) else { return (nil, []) }
            for (part, completions) in batch.left {
                worker.leave(part) { [weak self, schedule] in
                    // Do not run on the relays' event loops.
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
                logger.error("Failed to update relay subscriptions; retrying", metadata: ["error": "\(error)"])
                inbox.withLock { $0.restore(batch) }
                return (now() + Self.retryDelay, batch.taken.isEmpty ? taken : [])
            }
        }
        for completion in taken { completion() }
        guard let next else { return }
        wake(at: inbox.withLock { $0.wake(at: next) })
    }
}

/// The effect of partners' wake-up hints (kind 20062) on the subscriptions for an account.
package enum HintPolicy: String, Sendable, Hashable, CaseIterable {
    /// Hints are ignored.
    case ignore
    /// Hints cause notifications, and so do events from relays.
    case also
    /// Relays are not asked for an account with a partner that recently sent a hint. Its rows stay on disk. When its
    /// partners fall silent, relays are read for it from the last hint on. The mark of each of its relays is set back
    /// to that moment, because a mark covers all keys watched at a relay.
    case prefer
}

/// The interface through which an ``AccountWatch`` watches keys.
package protocol RelayWatching: Sendable {
    /// Changes the keys watched at one relay. `isOperators`: the configuration names the relay, not only users. Must
    /// not block and must not call the watch back before it returns.
    func update(_ relay: RelayURL, _ changes: [WatchChange], isOperators: Bool)

    /// Stops watching at the relays that `isLeft` selects, and closes their connections with a handshake. Calls
    /// `completion` once, on any thread and not before it returns, when all read events are processed.
    func leave(_ isLeft: @escaping @Sendable (RelayURL) -> Bool, then completion: @escaping @Sendable () -> Void)
}

extension RelayPool: RelayWatching {}
