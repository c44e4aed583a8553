import Core
import HeapModule
import Nostr
import Push
import Registry

/// The part of the registry that an ``AccountWatch`` reads accounts from.
protocol WatchedAccounts: Sendable {
    func watchedAccount(_ key: PublicKey) throws -> WatchedAccount?
    func forEachWatchedAccount(_ body: (WatchedAccount) throws -> Void) throws
    func concerns(_ author: PublicKey) throws -> Bool
    func rootsOfInterest() throws -> Set<PublicKey>
    func partners(of account: PublicKey) throws -> [DeviceID: Set<PublicKey>]
    func markFollowsRead(_ accounts: Set<PublicKey>) throws
}

extension Registry: WatchedAccounts {}

/// Computes the watches for each account from its registrations, lists and partners' hints. Used by one thread at a
/// time.
struct WatchTargets {
    /// Hints at shorter intervals have no effect.
    private static let hintGranularity: Duration = .minutes(10)
    /// A registration younger than this counts from its own time, not from the time when its relays became known.
    private static let freshRegistration: Duration = .minutes(10)
    private static let keysPerAccount = 16

    private let accounts: any WatchedAccounts
    private let prefersHints: Bool
    private(set) var hints: HintTable
    var choices: RelayChoice

    init(of accounts: any WatchedAccounts, _ configuration: AccountWatch.Configuration) {
        self.accounts = accounts
        prefersHints = configuration.hints == .prefer
        hints = HintTable(silentAfter: configuration.silentAfter, granularity: Self.hintGranularity)
        choices = RelayChoice(source: configuration.perUser, limit: configuration.relaysPerAccount)
    }

    /// Takes hints, and checks which partners have fallen silent. Returns the accounts whose targets may have changed.
    mutating func receive(_ hints: [WatchInbox.Hint], now: Timestamp) -> Set<PublicKey> {
        var accounts: Set<PublicKey> = []
        for hint in hints where self.hints.receive(hint, now: now) { accounts.insert(hint.account) }
        return accounts.union(self.hints.silenced(now: now))
    }

    /// Notes that the targets of these keys are applied.
    mutating func settled(_ keys: some Sequence<PublicKey>, now: Timestamp) {
        for key in keys { hints.forget(key, now: now) }
    }

    /// Returns the targets of all owners, sorted by the owners' bytes. The relays that they choose are admitted to
    /// `book`.
    mutating func all(in book: inout RelayBook, now: Timestamp) throws -> [WatchTarget] {
        var targets: [WatchTarget] = []
        var partnered: Set<PublicKey> = []
        try accounts.forEachWatchedAccount { account in
            targets.append(target(of: account, in: &book, now: now))
            if account.isPartnered, hints.lastHint(for: account.key) != nil { partnered.insert(account.key) }
        }
        for root in try accounts.rootsOfInterest() { targets.append(target(ofRoot: root, now: now)) }
        targets.sort { $0.owner < $1.owner }
        if !partnered.isEmpty {
            for index in targets.indices where partnered.contains(targets[index].owner) {
                try consider(for: &targets[index], now: now)
            }
        }
        return targets
    }

    /// Returns the target for `key`; nil if it needs no watch.
    mutating func target(for key: PublicKey, in book: inout RelayBook, now: Timestamp) throws -> WatchTarget? {
        guard let account = try accounts.watchedAccount(key) else {
            return try accounts.concerns(key) ? target(ofRoot: key, now: now) : nil
        }
        var target = target(of: account, in: &book, now: now)
        if account.isPartnered { try consider(for: &target, now: now) }
        return target
    }

    /// Leaves an account to its partners if each of its devices lists one that recently sent a hint.
    private func consider(for target: inout WatchTarget, now: Timestamp) throws {
        guard prefersHints, let lastHint = hints.lastHint(for: target.owner) else { return }
        let devices = try accounts.partners(of: target.owner).values
        target.isLeftToPartners =
            !devices.isEmpty
            && devices.allSatisfy { hints.isReached(target.owner, throughAnyOf: $0, now: now) }
        // Since then, no hint arrived for the device whose partners fell silent first.
        let lastHints = devices.compactMap { hints.lastHint(for: target.owner, throughAnyOf: $0) }
        target.lastHint = (lastHints.min() ?? lastHint).seconds
    }

    /// Returns the relays that an account chose in addition to the operator's, admitted or not.
    mutating func choice(of account: WatchedAccount, besides operators: Set<RelayURL>) -> [RelayURL] {
        choices.relays(of: account, without: operators)
    }

    /// Returns the target from the account's own data.
    private mutating func target(of account: WatchedAccount, in book: inout RelayBook, now: Timestamp) -> WatchTarget {
        let relays = choice(of: account, besides: book.operators).compactMap { book.admit($0) }
        let now = now.seconds
        let isFresh = now - account.registeredAt < Self.freshRegistration.seconds
        var target = WatchTarget(
            owner: account.key,
            interest: [.addressed, .authored],
            relays: relays,
            begin: isFresh ? min(account.registeredAt, now) : now
        )
        if !account.messageKeys.isEmpty {
            target.messageKeys = Array(account.messageKeys.filter { $0 != account.key }.prefix(Self.keysPerAccount))
        }
        if !relays.isEmpty, !account.partners.isEmpty {
            target.partners = Array(account.partners.subtracting([account.key]).sorted().prefix(Self.keysPerAccount))
        }
        return target
    }

    /// Returns the target for a root of interest without an account.
    private func target(ofRoot root: PublicKey, now: Timestamp) -> WatchTarget {
        WatchTarget(owner: root, interest: .authored, begin: now.seconds)
    }
}

/// The recent hints from accounts' partners.
struct HintTable {
    private struct Check: Comparable {
        var time: Timestamp
        var account: PublicKey

        static func < (one: Check, other: Check) -> Bool { one.time < other.time }
    }

    private struct Activity {
        var partners: [PublicKey: Timestamp] = [:]
        /// When to check the account next; nil if all its partners are silent.
        var look: Timestamp?
        /// The time of the last hint that led to a check.
        var reported: Timestamp
    }

    private var activity: [PublicKey: Activity] = [:]
    private var checks = Heap<Check>()
    private let silentAfter: Duration
    private let granularity: Duration

    /// A partner counts as active for `silentAfter` after a hint. More hints within `granularity` have no effect.
    init(silentAfter: Duration, granularity: Duration) {
        self.silentAfter = max(.milliseconds(1), silentAfter)
        self.granularity = granularity
    }

    /// Takes a hint. Returns whether to check the account, because its target may have changed.
    mutating func receive(_ hint: WatchInbox.Hint, now: Timestamp) -> Bool {
        let (account, partner, time) = (hint.account, hint.partner, min(hint.time, now))
        guard now - time < silentAfter else { return false }
        guard var known = activity[account] else {
            activity[account] = Activity(partners: [partner: time], look: time + silentAfter, reported: time)
            checks.insert(Check(time: time + silentAfter, account: account))
            return true
        }
        let isNew = known.partners[partner].map { now - $0 >= silentAfter } ?? true
        known.partners[partner] = max(time, known.partners[partner] ?? time)
        let isWorthALook = isNew || time - known.reported >= granularity
        if isWorthALook { known.reported = max(known.reported, time) }
        if known.look == nil {
            known.look = time + silentAfter
            checks.insert(Check(time: time + silentAfter, account: account))
        }
        activity[account] = known
        return isWorthALook
    }

    /// When any of its partners last sent a hint for the account.
    func lastHint(for account: PublicKey) -> Timestamp? { activity[account]?.partners.values.max() }

    /// When one of `partners` last sent a hint for the account.
    func lastHint(for account: PublicKey, throughAnyOf partners: Set<PublicKey>) -> Timestamp? {
        activity[account]?.partners.filter { partners.contains($0.key) }.values.max()
    }

    /// Whether one of `partners` sent a hint for the account and has not been silent for too long.
    func isReached(_ account: PublicKey, throughAnyOf partners: Set<PublicKey>, now: Timestamp) -> Bool {
        guard let known = activity[account]?.partners else { return false }
        return known.contains { partner, time in now - time < silentAfter && partners.contains(partner) }
    }

    /// Returns the accounts with a partner that has fallen silent. If all partners of an account have, only
    /// ``lastHint(for:)`` keeps it, until ``forget(_:now:)``.
    mutating func silenced(now: Timestamp) -> [PublicKey] {
        var accounts: [PublicKey] = []
        while let first = checks.min, first.time <= now {
            checks.removeMin()
            guard var known = activity[first.account], known.look == first.time else { continue }
            accounts.append(first.account)
            // The next time when a partner can have fallen silent.
            known.look = known.partners.values.map { $0 + silentAfter }.filter { $0 > now }.min()
            activity[first.account] = known
            if let next = known.look { checks.insert(Check(time: next, account: first.account)) }
        }
        return accounts
    }

    /// Forgets an account if none of its partners is active.
    mutating func forget(_ account: PublicKey, now: Timestamp) {
        guard let known = activity[account], known.partners.values.allSatisfy({ now - $0 >= silentAfter }) else {
            return
        }
        activity[account] = nil
    }

    /// When to call ``silenced(now:)`` next, because partners may have fallen silent; nil: not needed.
    var nextCheck: Timestamp? { checks.min?.time }
}
