import Core
import HTTPClient
import JSON
import Nostr

/// The subscriptions and bytes that may be open at a relay, from its document (NIP-11), its refusals and the configured
/// maximum.
struct RelayCapacity: Hashable, Sendable {
    /// The limits that refusals imply.
    private struct LearnedLimits: Hashable, Sendable {
        var subscriptions = Int.max
        var bytes = Int.max

        mutating func add(subscriptions: Int, bytes: Int) {
            self.subscriptions = min(self.subscriptions, subscriptions)
            self.bytes = min(self.bytes, bytes)
        }
    }

    /// The minimum to work with: the router's own subscription, a live one and one for reading, with chunks of some
    /// fifty keys.
    private static let least = (subscriptions: 3, bytes: 32_768)

    private var said = 20
    private let enough: Int
    /// Limits that the relay stated in a message. They apply until the process ends.
    private var stated = LearnedLimits()
    /// Limits guessed from refusals, until ``forgetAt``. The refusals may have had another reason.
    private var guessed = LearnedLimits()
    /// When the guesses expire.
    private(set) var forgetAt: Timestamp?

    /// `enough` is the configured maximum in bytes.
    init(enough: Int) {
        self.enough = enough
    }

    /// The maximum number of open subscriptions.
    var subscriptions: Int { max(Self.least.subscriptions, min(said, stated.subscriptions, guessed.subscriptions)) }

    /// The maximum bytes of all REQs whose subscriptions are open.
    var bytes: Int { max(Self.least.bytes, min(enough, stated.bytes, guessed.bytes)) }

    /// The part of ``bytes`` that live subscriptions leave free for reading stored events and for replacing
    /// subscriptions.
    var freeBytes: Int { bytes / 4 }

    /// Takes the limit from the relay's information document.
    mutating func says(subscriptions: Int) { said = subscriptions }

    /// Learns from a refusal about the number of subscriptions. `subscriptions` were open.
    mutating func learn(subscriptions: Int) { stated.add(subscriptions: subscriptions, bytes: .max) }

    /// Learns from a refusal about the size of all subscriptions. `bytes` were open.
    mutating func learn(bytes: Int) { stated.add(subscriptions: .max, bytes: bytes) }

    /// Learns from a refusal that may be about either limit.
    mutating func guess(subscriptions: Int, bytes: Int, until moment: Timestamp) {
        guessed.add(subscriptions: subscriptions, bytes: bytes)
        forgetAt = moment
    }

    /// Drops guesses that have expired. Returns whether the capacity is larger now.
    mutating func forget(now: Timestamp) -> Bool {
        guard let forgetAt, now >= forgetAt else { return false }
        let before = self
        guessed = LearnedLimits()
        self.forgetAt = nil
        return subscriptions > before.subscriptions || bytes > before.bytes
    }
}

/// The limits in a relay's document (NIP-11, `limitation`) that the router uses. Absurd values are replaced by the
/// nearest plausible ones, and missing ones by the value that relays commonly have.
struct RelayLimitation: Hashable, Sendable {
    /// The maximum bytes of one message from the router.
    var maxMessageLength = 131_072
    /// The maximum number of open subscriptions on one connection.
    var maxSubscriptions = 20
    /// The maximum `limit` of a filter; nil: not stated.
    var maxLimit: Int?
    /// Whether the relay requires authentication (NIP-42) before anything else.
    var isAuthenticationRequired = false

    init() {}

    /// Reads an information document. Invalid JSON and missing fields lead to the defaults.
    init(document: [UInt8]) {
        guard let text = String(validating: document, as: UTF8.self),
            let value = try? JSONValue(parsing: text),
            case .object(let fields) = value,
            case .object(let limits)? = fields["limitation"]
        else { return }
        if let length = limits.natural("max_message_length") {
            maxMessageLength = min(max(length, 2_048), 1_048_576)
        }
        if let count = limits.natural("max_subscriptions") {
            maxSubscriptions = min(max(count, 3), 200)
        }
        if let limit = limits.natural("max_limit") {
            maxLimit = min(max(limit, 1), 10_000)
        }
        isAuthenticationRequired = limits["auth_required"] == .bool(true)
    }
}

extension JSONObject {
    /// Returns a positive number, written as a number or as a string. Nil for 0 too, which some relays use for "no
    /// limit".
    fileprivate func natural(_ name: String) -> Int? {
        let text: String
        switch self[name] {
        case .number(let number): text = number
        case .string(let string): text = string
        default: return nil
        }
        guard let number = Double(text), number >= 1 else { return nil }
        return Int(min(number, 1e9))
    }
}

/// Caches a relay's limits (NIP-11), and decides when to request them.
struct KnownLimitation {
    private enum State {
        case unknown
        case asked
        case known(RelayLimitation, at: Deadline)
    }

    private let age: Duration
    private var state = State.unknown

    /// - Parameter age: How long they stay valid.
    init(age: Duration) {
        self.age = age
    }

    /// Nil while the response is outstanding.
    var limitation: RelayLimitation? {
        guard case .known(let limitation, _) = state else { return nil }
        return limitation
    }

    /// Whether to request the limits now.
    mutating func begin(now: Deadline) -> Bool {
        switch state {
        case .asked: return false
        case .known(_, let at) where now - at < age: return false
        case .known, .unknown:
            state = .asked
            return true
        }
    }

    /// Takes the response. A relay without a document gets the default limits until the next connection requests it
    /// again.
    mutating func end(_ result: Result<HTTPResponse, HTTPError>, now: Deadline) -> RelayLimitation {
        guard case .success(let response) = result, response.status == 200 else {
            state = .known(RelayLimitation(), at: now - age)
            return RelayLimitation()
        }
        let limitation = RelayLimitation(document: response.body)
        state = .known(limitation, at: now)
        return limitation
    }
}

/// A rate limit for REQs with a burst. The rate falls after a complaint from the relay.
struct RequestPace: Sendable {
    private let burst: Double
    private let usual: Double
    private var bucket: TokenBucket
    private var complainedAt: Timestamp?

    /// After this time without a complaint the rate doubles again.
    private static let forgiveness: Duration = .minutes(1)

    init(burst: Double, perSecond: Double, now: Timestamp) {
        self.burst = max(1, burst)
        usual = max(0.01, perSecond)
        bucket = TokenBucket(capacity: self.burst, perSecond: usual, now: now)
    }

    /// Whether a REQ may be sent at `now`. If so, it counts as sent.
    mutating func take(at now: Timestamp) -> Bool {
        forgive(now)
        return bucket.take(at: now)
    }

    /// Returns when the next REQ may be sent.
    mutating func next(after now: Timestamp) -> Timestamp {
        forgive(now)
        return bucket.next(after: now)
    }

    /// Halves the rate, at most once per second: several refusals within a second count as one complaint.
    mutating func slowDown(at now: Timestamp) {
        if let complainedAt, now - complainedAt < .seconds(1) { return }
        forgive(now)
        complainedAt = now
        setPace(max(usual / 64, bucket.perSecond / 2))
        bucket.empty(at: now)
    }

    /// Returns to the normal rate, because the complaint was not about it.
    mutating func resume(at now: Timestamp) {
        forgive(now)
        bucket.fill(at: now)
        complainedAt = nil
        setPace(usual)
    }

    private mutating func forgive(_ now: Timestamp) {
        guard let since = complainedAt, now - since >= Self.forgiveness else { return }
        setPace(min(usual, bucket.perSecond * 2))
        complainedAt = bucket.perSecond < usual ? now : nil
    }

    /// A reduced rate has no burst.
    private mutating func setPace(_ perSecond: Double) {
        bucket.perSecond = perSecond
        bucket.capacity = perSecond < usual ? 1 : burst
    }
}

/// The meaning of a relay's refusal of a subscription or an event (NIP-01, NIP-42).
///
/// The router responds by authenticating (NIP-42), slowing down, requesting less at a time, omitting gift wraps, or
/// disconnecting for a while.
enum RejectReason: Hashable, Sendable {
    /// The relay requires authentication first.
    case authenticate
    /// The router sends requests too fast.
    case slower
    /// Too many subscriptions are open.
    case tooManySubscriptions
    /// All open subscriptions together are too large.
    case tooLargeSubscriptions
    /// The message or filter is too large, or not understood.
    case smaller
    /// The refusal is permanent, so a retry soon is useless.
    case never
    /// A failure that may be temporary.
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

    /// Returns the meaning of a `NOTICE`. It is meant for people (NIP-01), but some relays send no other response. Nil:
    /// the router ignores it.
    init?(notice: String) {
        let text = notice.prefix(200).lowercased()
        switch RejectReason(notice) {
        case .tooManySubscriptions: self = .tooManySubscriptions
        case .tooLargeSubscriptions: self = .tooLargeSubscriptions
        default:
            let signs = ["rate-limit", "rate limit", "ratelimit", "slow down", "too fast", "too many requests"]
            guard signs.contains(where: { text.contains($0) }) else { return nil }
            self = .slower
        }
    }

    /// Returns a refusal about all subscriptions: there are too many, or they are too large together. Relays use
    /// several prefixes for it, including the one for rates.
    private static func ofWhatIsOpen(_ text: String) -> RejectReason? {
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

/// Detects a relay that is full, in contrast to one that limits the rate: it refuses several REQs in a row although the
/// router waits before each.
struct RejectStreak: Hashable, Sendable {
    private static let length = 3

    private var count = 0
    /// The number of the REQ that was refused first.
    private var first: UInt64 = 0
    /// REQs from this number on were sent after the last refusal.
    private var next: UInt64 = 0

    /// Notes that the REQ of that number was refused. `last` is the last REQ sent. Returns whether the relay seems
    /// full.
    mutating func refused(_ number: UInt64, last: UInt64) -> Bool {
        guard number >= next else { return false }
        if count == 0 { first = number }
        count += 1
        next = last + 1
        return count >= Self.length
    }

    mutating func accepted(_ number: UInt64) {
        if number > first { self = RejectStreak() }
    }
}
