import Core
import Nostr
import Push

/// Follows of follows: what was found out about pairs of account and author, for a while, and what is being asked. A
/// pure machine.
///
/// Relays are asked for contact lists of people that the account follows and that name the author in a `p` tag. The
/// event waits meanwhile.
struct FollowDistances {
    /// What is known of one pair.
    private enum Finding {
        case second
        case stranger
        /// No relay answered.
        case unanswered

        /// How long it is believed.
        var lifetime: Duration {
            switch self {
            case .second: .days(1)
            case .stranger: .minutes(10)
            case .unanswered: .minutes(1)
            }
        }
    }

    private struct Memory {
        let finding: Finding
        let at: Timestamp
        /// The account's contact list then.
        let list: EventID
    }

    /// How many pairs are being asked about at most, or wait to be; of further ones nothing is found out.
    private static let openLimit = 256
    /// The same of one account, so that a flood of strangers at one account leaves the others theirs.
    private static let openLimitOfAccount = 32

    private var memories = BoundedCache<DistanceWant, Memory>(capacity: 100_000)
    /// Being asked about, by author, with the account's contact list.
    private var open: [PublicKey: [DistanceWant: EventID]] = [:]
    private var openCount = 0
    private var openCounts: [PublicKey: Int] = [:]
    /// Wait until the account's contact list is known.
    private var deferred: [PublicKey: Set<DistanceWant>] = [:]
    private var deferredCount = 0

    /// What is known of a pair whose account has the contact list `list` and does not follow the author; nil: worth
    /// asking.
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

    /// Relays are asked about that pair.
    mutating func ask(_ want: DistanceWant, by list: EventID) {
        guard open[want.author, default: [:]].updateValue(list, forKey: want) == nil else { return }
        openCount += 1
        openCounts[want.account, default: 0] += 1
    }

    /// That pair waits until a contact list of its account is known; false when too many do.
    mutating func waitForList(_ want: DistanceWant) -> Bool {
        guard deferredCount < Self.openLimit, deferred[want.account]?.count ?? 0 < Self.openLimitOfAccount else {
            return false
        }
        if deferred[want.account, default: []].insert(want).inserted { deferredCount += 1 }
        return true
    }

    /// The pairs that waited for the contact list of that account, which is known by now or never will be.
    mutating func takeWaiting(for account: PublicKey) -> Set<DistanceWant> {
        let waiting = deferred.removeValue(forKey: account) ?? []
        deferredCount -= waiting.count
        return waiting
    }

    /// The pairs being asked about that a contact list of `author`, which names `named`, settles. `isFollowed` says
    /// whether an account follows the list's author.
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

    /// Relays have nothing more to say about that pair.
    mutating func end(_ want: DistanceWant, isAnswered: Bool, at now: Timestamp) {
        close(want, isAnswered ? .stranger : .unanswered, at: now)
    }

    private mutating func close(_ want: DistanceWant, _ finding: Finding, at now: Timestamp) {
        guard let list = open[want.author]?.removeValue(forKey: want) else { return }
        if open[want.author]?.isEmpty == true { open[want.author] = nil }
        openCount -= 1
        openCounts[want.account, default: 0] -= 1
        if openCounts[want.account] == 0 { openCounts[want.account] = nil }
        memories.set(Memory(finding: finding, at: now, list: list), for: want)
    }
}
