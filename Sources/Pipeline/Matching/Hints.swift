import Core
import Nostr
import Push
import Registry

/// A partner's word that something waits for an account (kind 20062, contrib/docs/internals.md, "Hints").
struct WakeUpHint {
    /// A hint is for one account. A few more are tolerated; each costs a look at the disk before anything
    /// proves the sender.
    static let accountLimit = 8

    let event: EventID
    let author: PublicKey
    /// What waits.
    let signal: Signal
    /// The key that the signer claims to speak for: `root_identity`, else their own.
    let partner: PublicKey
    /// Seconds since 1970, as its author claims.
    let createdAt: Int64

    /// Nil when a tag cannot be read.
    init?(_ event: Event) {
        guard let type = event.value(of: "t"), !type.isEmpty else { return nil }
        self.event = event.id
        author = event.pubkey
        signal = Signal(rawValue: type)
        createdAt = event.createdAt
        guard let root = event.value(of: "root_identity") else {
            partner = event.pubkey
            return
        }
        guard let root = PublicKey(hex: root) else { return nil }
        partner = root
    }
}

/// Limits how often and how late a partner may wake an account. Knows no registry and no clock.
struct HintLimiter {
    struct Limits {
        /// How far a hint's date may be off.
        var tolerance: Duration = .minutes(10)
        /// How many hints of one partner for one account wake at once,
        var burst = 10
        /// and how much time lies between any further ones.
        var interval: Duration = .seconds(30)
        /// How many pairs of partner and account are counted at a time; each only until its burst is whole again.
        var pairs = 100_000
    }

    private struct Pair: Hashable {
        let partner: PublicKey
        let account: PublicKey
    }

    private let limits: Limits
    /// When the burst of each is whole again (the generic cell rate algorithm).
    private var wholeAt: [Pair: Timestamp] = [:]

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether a hint dated `createdAt`, in seconds since 1970, is about what happens at `now`.
    func isFresh(_ createdAt: Int64, at now: Timestamp) -> Bool {
        let (date, second) = (Timestamp(seconds: createdAt), Timestamp(seconds: now.seconds))
        return date >= second - limits.tolerance && date <= second + limits.tolerance
    }

    /// Whether one more hint of `partner`, who was proven to be one, may wake `account`; counts it if so.
    mutating func admits(_ partner: PublicKey, for account: PublicKey, at now: Timestamp) -> Bool {
        let pair = Pair(partner: partner, account: account)
        let whole = limits.interval * limits.burst
        // A clock that was put back must not lock anybody out.
        var start = max(wholeAt[pair] ?? now, now)
        if start > now + whole { start = now }
        guard start + limits.interval <= now + whole else { return false }
        if wholeAt[pair] == nil, wholeAt.count >= limits.pairs {
            wholeAt = wholeAt.filter { $0.value > now && $0.value <= now + whole }
            guard wholeAt.count < limits.pairs else { return false }
        }
        wholeAt[pair] = start + limits.interval
        return true
    }
}

/// The hint stage: decides whether a partner's hint wakes an account, and which of its devices.
///
/// A hint wakes the devices that name the hinting root as a partner, if the hint is fresh and its signer is that root
/// or a device in the root's kind 10050. Its sender learns nothing about that.
struct Hints {
    enum Decision {
        /// It wakes these devices, which name the partner.
        case wake(Set<DeviceID>)
        /// It wakes none.
        case stop(PipelineStep)
    }

    private let registry: Registry
    private let heard: PipelineDependencies.HintHeard?
    private var limiter = HintLimiter()

    init(registry: Registry, heard: PipelineDependencies.HintHeard?) {
        self.registry = registry
        self.heard = heard
    }

    /// The hint in an event that names that many accounts; nil when it says nothing, is dated too far from now, or
    /// names a crowd.
    func read(_ event: Event, naming accounts: Int, at now: Timestamp) -> WakeUpHint? {
        guard accounts <= WakeUpHint.accountLimit, let hint = WakeUpHint(event),
            limiter.isFresh(hint.createdAt, at: now)
        else { return nil }
        return hint
    }

    /// Decides about a hint for one account. Throws when the registry cannot be read.
    mutating func decide(_ hint: WakeUpHint, for account: PublicKey, at now: Timestamp) throws -> Decision {
        let partnered = try registry.partners(of: account).filter { $0.value.contains(hint.partner) }
        guard !partnered.isEmpty, try registry.speaks(hint.author, for: hint.partner) else {
            return .stop(.hintUnproven)
        }
        heard?(account, hint.partner, now)
        guard limiter.admits(hint.partner, for: account, at: now) else { return .stop(.hintLimited) }
        return .wake(Set(partnered.keys))
    }
}
