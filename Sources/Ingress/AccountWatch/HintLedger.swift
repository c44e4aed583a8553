import HeapModule
import Nostr
import Units

/// Which partners of which accounts sent hints lately.
struct HintLedger {
    private struct Check: Comparable {
        var time: Timestamp
        var account: PublicKey

        static func < (one: Check, other: Check) -> Bool { one.time < other.time }
    }

    private struct Activity {
        var partners: [PublicKey: Timestamp] = [:]
        /// When to check the account next; nil when all its partners are silent.
        var look: Timestamp?
        /// Time of the last hint that led to a check.
        var reported: Timestamp
    }

    private var activity: [PublicKey: Activity] = [:]
    private var checks = Heap<Check>()
    private let silentAfter: Duration
    private let granularity: Duration

    /// A partner counts as active for `silentAfter` after a hint. Further hints within `granularity` change nothing.
    init(silentAfter: Duration, granularity: Duration) {
        self.silentAfter = max(.milliseconds(1), silentAfter)
        self.granularity = granularity
    }

    /// Takes a hint. Returns whether the account should be checked, because what depends on its hints may have changed.
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

    /// Accounts with a partner that has become silent. If all partners of an account have, only ``lastHint(for:)``
    /// remembers it, until ``forget(_:now:)``.
    mutating func silenced(now: Timestamp) -> [PublicKey] {
        var accounts: [PublicKey] = []
        while let first = checks.min, first.time <= now {
            checks.removeMin()
            guard var known = activity[first.account], known.look == first.time else { continue }
            accounts.append(first.account)
            // The next time that a partner can have become silent.
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

    /// When to call ``silenced(now:)`` next; nil: no need.
    var nextCheck: Timestamp? { checks.min?.time }

    var count: Int { activity.count }
}
