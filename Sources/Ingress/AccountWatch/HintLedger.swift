import HeapModule
import Nostr

/// Which partners of which accounts sent hints lately. Times are in milliseconds since 1970.
struct HintLedger {
    private struct Deadline: Comparable {
        var time: Int64
        var account: PublicKey

        static func < (one: Deadline, other: Deadline) -> Bool { one.time < other.time }
    }

    private struct Activity {
        var partners: [PublicKey: Int64] = [:]
        /// When the next look at the account is due; nil when all its partners are silent.
        var look: Int64?
        /// Up to when whoever asks knows of the hints.
        var reported: Int64
    }

    private var activity: [PublicKey: Activity] = [:]
    private var deadlines = Heap<Deadline>()
    private let silentAfter: Int64
    private let granularity: Int64

    /// A partner counts as there for `silentAfter` after a hint. Further hints are news to nobody for `granularity`.
    init(silentAfter: Int64, granularity: Int64) {
        self.silentAfter = max(1, silentAfter)
        self.granularity = granularity
    }

    /// Takes a hint. Returns whether the account should be looked at, for what depends on its hints may have changed.
    mutating func receive(_ hint: WatchInbox.Hint, now: Int64) -> Bool {
        let (account, partner, time) = (hint.account, hint.partner, min(hint.time, now))
        guard now - time < silentAfter else { return false }
        guard var known = activity[account] else {
            activity[account] = Activity(partners: [partner: time], look: time + silentAfter, reported: time)
            deadlines.insert(Deadline(time: time + silentAfter, account: account))
            return true
        }
        let isNew = known.partners[partner].map { now - $0 >= silentAfter } ?? true
        known.partners[partner] = max(time, known.partners[partner] ?? time)
        let isWorthALook = isNew || time - known.reported >= granularity
        if isWorthALook { known.reported = max(known.reported, time) }
        if known.look == nil {
            known.look = time + silentAfter
            deadlines.insert(Deadline(time: time + silentAfter, account: account))
        }
        activity[account] = known
        return isWorthALook
    }

    /// When any of its partners last sent a hint for the account.
    func lastHint(for account: PublicKey) -> Int64? { activity[account]?.partners.values.max() }

    /// When one of `partners` last sent a hint for the account.
    func lastHint(for account: PublicKey, throughAnyOf partners: Set<PublicKey>) -> Int64? {
        activity[account]?.partners.filter { partners.contains($0.key) }.values.max()
    }

    /// Whether one of `partners` sent a hint for the account and has not been silent for too long.
    func isReached(_ account: PublicKey, throughAnyOf partners: Set<PublicKey>, now: Int64) -> Bool {
        guard let known = activity[account]?.partners else { return false }
        return known.contains { partner, time in now - time < silentAfter && partners.contains(partner) }
    }

    /// Accounts of which a partner has become silent. Nothing is remembered of those all of whose partners have, but by
    /// ``lastHint(for:)`` until ``forget(_:)``.
    mutating func silenced(now: Int64) -> [PublicKey] {
        var accounts: [PublicKey] = []
        while let first = deadlines.min, first.time <= now {
            deadlines.removeMin()
            guard var known = activity[first.account], known.look == first.time else { continue }
            accounts.append(first.account)
            // The next time that a partner can have become silent.
            known.look = known.partners.values.map { $0 + silentAfter }.filter { $0 > now }.min()
            activity[first.account] = known
            if let next = known.look { deadlines.insert(Deadline(time: next, account: first.account)) }
        }
        return accounts
    }

    /// Forgets an account none of whose partners is there any more.
    mutating func forget(_ account: PublicKey, now: Int64) {
        guard let known = activity[account], known.partners.values.allSatisfy({ now - $0 >= silentAfter }) else {
            return
        }
        activity[account] = nil
    }

    /// When ``silenced(now:)`` has something to say; nil when nothing is to be expected.
    var nextDeadline: Int64? { deadlines.min?.time }

    var count: Int { activity.count }
}
