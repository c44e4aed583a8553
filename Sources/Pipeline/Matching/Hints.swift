import Core
import Nostr
import Push
import Registry

/// A partner's hint that an event waits for an account (kind 20062, contrib/docs/internals.md, "Hints").
struct WakeUpHint {
    /// The maximum number of accounts in a hint. It is meant for one, but a few more are tolerated; each costs a disk
    /// access before the sender is proven.
    static let accountLimit = 8

    let event: EventID
    let author: PublicKey
    /// The signal of the waiting event.
    let signal: Signal
    /// The key that the signer claims to speak for: `root_identity`, or by default the signer's own.
    let partner: PublicKey
    /// Seconds since 1970, as its author claims.
    let createdAt: Int64

    /// Nil if a tag is invalid.
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

/// Limits how often and how late a partner may notify an account. It uses no registry and no clock.
struct HintLimiter {
    struct Limits {
        /// The maximum difference between a hint's date and now.
        var tolerance: Duration = .minutes(10)
        /// The number of hints of one partner for one account that may come in a burst.
        var burst = 10
        /// The minimum time between more hints after a burst.
        var interval: Duration = .seconds(30)
        /// The maximum number of counted pairs of partner and account. A pair is counted until its burst is fully
        /// restored.
        var pairs = 100_000
    }

    private struct Pair: Hashable {
        let partner: PublicKey
        let account: PublicKey
    }

    private let limits: Limits
    /// When the burst of each pair is fully restored (the generic cell rate algorithm).
    private var wholeAt: [Pair: Timestamp] = [:]

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether the date `createdAt`, in seconds since 1970, is close enough to `now`.
    func isFresh(_ createdAt: Int64, at now: Timestamp) -> Bool {
        let (date, second) = (Timestamp(seconds: createdAt), Timestamp(seconds: now.seconds))
        return date >= second - limits.tolerance && date <= second + limits.tolerance
    }

    /// Whether one more hint of `partner`, who was proven, may notify `account`. If so, counts it.
    mutating func admits(_ partner: PublicKey, for account: PublicKey, at now: Timestamp) -> Bool {
        let pair = Pair(partner: partner, account: account)
        let whole = limits.interval * limits.burst
        // If the clock was set back, partners must not be locked out.
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

/// The hint stage: decides whether a partner's hint notifies an account, and which of its devices.
///
/// A hint notifies the devices that name the hinting root as a partner, if it is fresh and signed by that root or by a
/// device in the root's kind 10050. The sender does not learn the result.
struct Hints {
    enum Decision {
        /// It notifies these devices, which name the partner.
        case wake(Set<DeviceID>)
        /// It notifies no device.
        case stop(PipelineStep)
    }

    private let registry: Registry
    private let heard: PipelineDependencies.HintHeard?
    private var limiter = HintLimiter()

    init(registry: Registry, heard: PipelineDependencies.HintHeard?) {
        self.registry = registry
        self.heard = heard
    }

    /// Returns the hint in an event that names that many accounts. Nil if it has no content, too many recipients, or a
    /// date too far from now.
    func read(_ event: Event, naming accounts: Int, at now: Timestamp) -> WakeUpHint? {
        guard accounts <= WakeUpHint.accountLimit, let hint = WakeUpHint(event),
            limiter.isFresh(hint.createdAt, at: now)
        else { return nil }
        return hint
    }

    /// Decides about a hint for one account. Throws if the registry cannot be read.
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
