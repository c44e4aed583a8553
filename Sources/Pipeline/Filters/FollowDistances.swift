import Core
import Nostr
import Push

/// Follows of follows: recent results for pairs of account and author, and the pairs in progress. It has no side
/// effects.
///
/// Relays are asked for contact lists that name the author in a `p` tag, by people that the account follows. The event
/// waits until then.
struct FollowDistances {
    /// The result for one pair.
    private enum Distance {
        case second
        case stranger
        /// No relay answered.
        case unanswered

        /// How long the result is valid.
        var lifetime: Duration {
            switch self {
            case .second: .days(1)
            case .stranger: .minutes(10)
            case .unanswered: .minutes(1)
            }
        }
    }

    private struct Memory {
        let finding: Distance
        let at: Timestamp
        /// The account's contact list at that time.
        let list: EventID
    }

    /// The maximum number of pairs in progress, and of pairs that wait for a contact list. Additional pairs are
    /// skipped.
    private static let openLimit = 256
    /// The same limits per account, so that many strangers at one account do not affect the others.
    private static let openLimitOfAccount = 32

    private var memories = BoundedCache<DistanceWant, Memory>(capacity: 100_000)
    /// Pairs in progress by author, with the account's contact list.
    private var open: [PublicKey: [DistanceWant: EventID]] = [:]
    private var openCount = 0
    private var openCounts: [PublicKey: Int] = [:]
    /// Pairs that wait until the account's contact list is known.
    private var deferred: [PublicKey: Set<DistanceWant>] = [:]
    private var deferredCount = 0

    /// Returns the result for a pair whose account has the contact list `list` and does not follow the author. Nil if
    /// it should be fetched.
    mutating func distance(_ want: DistanceWant, by list: EventID, at now: Timestamp) -> FollowDistance? {
        if let memory = memories.value(of: want), memory.list == list,
            (.zero..<memory.finding.lifetime).contains(now - memory.at)
        {
            return switch memory.finding {
            case .second: .second
            case .stranger: .stranger
            case .unanswered: .notFollowed
            }
        }
        if open[want.author]?[want] != nil { return nil }
        let isRoom = openCount < Self.openLimit && openCounts[want.account, default: 0] < Self.openLimitOfAccount
        return isRoom ? nil : .notFollowed
    }

    /// Records that relays are asked about that pair.
    mutating func ask(_ want: DistanceWant, by list: EventID) {
        guard open[want.author, default: [:]].updateValue(list, forKey: want) == nil else { return }
        openCount += 1
        openCounts[want.account, default: 0] += 1
    }

    /// Lets a pair wait for its account's contact list. Returns false if too many pairs wait.
    mutating func waitForList(_ want: DistanceWant) -> Bool {
        guard deferredCount < Self.openLimit, deferred[want.account]?.count ?? 0 < Self.openLimitOfAccount else {
            return false
        }
        if deferred[want.account, default: []].insert(want).inserted { deferredCount += 1 }
        return true
    }

    /// Removes the pairs that waited for the contact list of an account, because it is known now or was not found.
    mutating func takeWaiting(for account: PublicKey) -> Set<DistanceWant> {
        let waiting = deferred.removeValue(forKey: account) ?? []
        deferredCount -= waiting.count
        return waiting
    }

    /// Settles pairs in progress with a contact list that names `named`, and returns them. `isFollowed` returns whether
    /// an account follows the list's author.
    mutating func settle(
        naming named: some Sequence<PublicKey>,
        at now: Timestamp,
        isFollowed: (_ account: PublicKey) -> Bool
    ) -> [DistanceWant] {
        guard !open.isEmpty else { return [] }
        var settled: [DistanceWant] = []
        for key in named {
            for (want, _) in open[key] ?? [:] where isFollowed(want.account) { settled.append(want) }
        }
        for want in settled { close(want, .second, at: now) }
        return settled
    }

    /// Ends a pair, because relays have no more answers about it.
    mutating func end(_ want: DistanceWant, isAnswered: Bool, at now: Timestamp) {
        close(want, isAnswered ? .stranger : .unanswered, at: now)
    }

    private mutating func close(_ want: DistanceWant, _ finding: Distance, at now: Timestamp) {
        guard let list = open[want.author]?.removeValue(forKey: want) else { return }
        if open[want.author]?.isEmpty == true { open[want.author] = nil }
        openCount -= 1
        openCounts[want.account, default: 0] -= 1
        if openCounts[want.account] == 0 { openCounts[want.account] = nil }
        memories.set(Memory(finding: finding, at: now, list: list), for: want)
    }
}
