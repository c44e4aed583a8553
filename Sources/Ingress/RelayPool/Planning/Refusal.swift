import Nostr

/// What a relay means when it refuses a subscription or an event (NIP-01, NIP-42).
///
/// We answer a refusal by authenticating (NIP-42), slowing down, asking for less at a time, doing without gift wraps,
/// or leaving the relay alone.
enum Refusal: Hashable, Sendable {
    /// It wants to know who we are first.
    case authenticate
    /// We ask too fast.
    case slower
    /// More subscriptions are open than it allows.
    case tooManySubscriptions
    /// All open subscriptions together are too large.
    case tooLargeSubscriptions
    /// The message or filter is too large, or not understood.
    case smaller
    /// It refuses, and asking again soon is useless.
    case never
    /// Something went wrong, perhaps only temporarily.
    case later

    init(_ message: String) {
        let text = message.prefix(200).lowercased()
        let prefix = MachineReadablePrefix(of: message)
        if text.contains("too many requests") {
            self = .slower
            return
        }
        if prefix != .authRequired, let refusal = Self.ofWhatIsOpen(text) {
            self = refusal
            return
        }
        switch prefix {
        case .authRequired: self = .authenticate
        case .rateLimited: self = .slower
        case .restricted, .blocked, .mute, .pow: self = .never
        case .unsupported, .invalid: self = .smaller
        case .error, .duplicate, nil:
            let isSize = ["too large", "too big", "too long", "too many"].contains { text.contains($0) }
            self = isSize ? .smaller : .later
        }
    }

    /// What a `NOTICE` may mean. It is for people (NIP-01), but some relays say nothing else. Nil: it does not matter
    /// to us.
    init?(notice: String) {
        let text = notice.prefix(200).lowercased()
        switch Refusal(notice) {
        case .tooManySubscriptions: self = .tooManySubscriptions
        case .tooLargeSubscriptions: self = .tooLargeSubscriptions
        default:
            let signs = ["rate-limit", "rate limit", "ratelimit", "slow down", "too fast", "too many requests"]
            guard signs.contains(where: { text.contains($0) }) else { return nil }
            self = .slower
        }
    }

    /// A refusal about all subscriptions: there are too many, or they are too large together. Relays use several
    /// prefixes for it, also the one for rates.
    private static func ofWhatIsOpen(_ text: String) -> Refusal? {
        let body = text.firstIndex(of: ":").map { text[$0...] } ?? text[...]
        let list = body.split { !$0.isLetter }.map(String.init)
        let words = Set(list)
        guard !words.isDisjoint(with: subscriptionWords) else { return nil }
        if let place = list.indices.dropLast().first(where: { list[$0] == "too" && list[$0 + 1] == "many" }) {
            let counted = list[(place + 2)...].prefix(2)
            return subscriptionWords.isDisjoint(with: counted) ? nil : .tooManySubscriptions
        }
        guard words.isDisjoint(with: rateWords), !words.isDisjoint(with: limitWords), !words.contains("id") else {
            return nil
        }
        guard !words.isDisjoint(with: sizeWords) else { return .tooManySubscriptions }
        return words.isDisjoint(with: togetherWords) ? nil : .tooLargeSubscriptions
    }

    private static let subscriptionWords: Set = ["req", "reqs", "subscription", "subscriptions", "sub", "subs"]
    private static let rateWords: Set = ["rate", "per", "second", "minute", "fast", "slow", "requests"]
    private static let limitWords: Set = ["max", "maximum", "limit", "exceed", "exceeds", "exceeded", "large", "big"]
    private static let sizeWords: Set = ["size", "bytes", "byte", "length", "large", "big", "long"]
    private static let togetherWords: Set = [
        "reqs", "subscriptions", "subs", "active", "open", "concurrent", "total", "all",
    ]
}

/// Detects a relay that is full, in contrast to one that is asked too fast: it refuses several REQs in a row although
/// we wait before each.
struct RefusalStreak: Hashable, Sendable {
    private static let length = 3

    private var count = 0
    /// The number of the REQ that was refused first.
    private var first: UInt64 = 0
    /// REQs from that number on were sent after the last refusal.
    private var next: UInt64 = 0

    /// Notes that the REQ of that number was refused; `last` is the last that was sent. Returns whether the relay seems
    /// full.
    mutating func refused(_ number: UInt64, last: UInt64) -> Bool {
        guard number >= next else { return false }
        if count == 0 { first = number }
        count += 1
        next = last + 1
        return count >= Self.length
    }

    mutating func accepted(_ number: UInt64) {
        if number > first { self = RefusalStreak() }
    }
}
