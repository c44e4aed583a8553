import Core
import HTTPClient
import JSON
import Nostr

/// How much we may have open at a relay, from what it says (NIP-11), what it refused and what we consider enough.
struct RelayCapacity: Hashable, Sendable {
    /// The limits that refusals imply.
    private struct Lesson: Hashable, Sendable {
        var subscriptions = Int.max
        var bytes = Int.max

        mutating func add(subscriptions: Int, bytes: Int) {
            self.subscriptions = min(self.subscriptions, subscriptions)
            self.bytes = min(self.bytes, bytes)
        }
    }

    /// The minimum to work with: our own subscription, a live one and one to read with; chunks of some fifty keys.
    private static let least = (subscriptions: 3, bytes: 32_768)

    private var said = 20
    private let enough: Int
    /// What the relay said in words, which holds as long as this process lives.
    private var stated = Lesson()
    /// What its refusals suggest, until ``forgetAt``: they may have had another reason.
    private var guessed = Lesson()
    /// When guesses are given up.
    private(set) var forgetAt: Timestamp?

    /// `enough` is the most that we want of a relay, in bytes.
    init(enough: Int) {
        self.enough = enough
    }

    /// Subscriptions.
    var subscriptions: Int { max(Self.least.subscriptions, min(said, stated.subscriptions, guessed.subscriptions)) }

    /// Bytes of all REQs whose subscriptions are open.
    var bytes: Int { max(Self.least.bytes, min(enough, stated.bytes, guessed.bytes)) }

    /// The part of ``bytes`` that long-lived subscriptions leave free, for reading stored events and for replacing
    /// subscriptions.
    var freeBytes: Int { bytes / 4 }

    /// Takes what the relay's information document says.
    mutating func says(subscriptions: Int) { said = subscriptions }

    /// Learns from a refusal about the number of subscriptions; so many were open.
    mutating func learn(subscriptions: Int) { stated.add(subscriptions: subscriptions, bytes: .max) }

    /// Learns from a refusal about the size of all subscriptions; so many bytes were open.
    mutating func learn(bytes: Int) { stated.add(subscriptions: .max, bytes: bytes) }

    /// Learns from a refusal that seems to be about one or the other.
    mutating func guess(subscriptions: Int, bytes: Int, until moment: Timestamp) {
        guessed.add(subscriptions: subscriptions, bytes: bytes)
        forgetAt = moment
    }

    /// Gives guesses up when it is time. Returns whether there is more room now.
    mutating func forget(now: Timestamp) -> Bool {
        guard let forgetAt, now >= forgetAt else { return false }
        let before = self
        guessed = Lesson()
        self.forgetAt = nil
        return subscriptions > before.subscriptions || bytes > before.bytes
    }
}

/// What a relay says about its limits (NIP-11, `limitation`), as far as it matters to us. Absurd values are replaced by
/// the nearest plausible ones; what is missing gets the value that relays commonly have.
struct RelayLimitation: Hashable, Sendable {
    /// Bytes of one message of ours.
    var maxMessageLength = 131_072
    /// Subscriptions open on one connection.
    var maxSubscriptions = 20
    /// The largest `limit` of a filter; nil: the relay does not say.
    var maxLimit: Int?
    /// Whether the relay wants NIP-42 before anything else.
    var isAuthenticationRequired = false

    init() {}

    /// Reads an information document. One that is not JSON, or has no such field, leads to the defaults.
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
    /// A positive number, written as a number or as text. Nil also for 0, which some use for "no limit".
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

/// Caches a relay's limits (NIP-11), and decides when to ask for them.
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

    /// Nil while the answer is outstanding.
    var limitation: RelayLimitation? {
        guard case .known(let limitation, _) = state else { return nil }
        return limitation
    }

    /// Whether to ask now.
    mutating func begin(now: Deadline) -> Bool {
        switch state {
        case .asked: return false
        case .known(_, let at) where now - at < age: return false
        case .known, .unknown:
            state = .asked
            return true
        }
    }

    /// Takes the answer. A relay without a document gets the usual limits until the next connection asks again.
    mutating func end(_ result: Result<HTTPResponse, HTTPFailure>, now: Deadline) -> RelayLimitation {
        guard case .success(let response) = result, response.status == 200 else {
            state = .known(RelayLimitation(), at: now - age)
            return RelayLimitation()
        }
        let limitation = RelayLimitation(document: response.body)
        state = .known(limitation, at: now)
        return limitation
    }
}

/// Lets a burst of REQs pass and then a fixed number a second, fewer after a complaint of the relay.
struct RequestPace: Sendable {
    private let burst: Double
    private let usual: Double
    private var bucket: TokenBucket
    private var complainedAt: Timestamp?

    /// After this time without a complaint the pace doubles again.
    private static let forgiveness: Duration = .minutes(1)

    init(burst: Double, perSecond: Double, now: Timestamp) {
        self.burst = max(1, burst)
        usual = max(0.01, perSecond)
        bucket = TokenBucket(capacity: self.burst, perSecond: usual, now: now)
    }

    /// Whether one may be sent at `now`.
    mutating func take(at now: Timestamp) -> Bool {
        forgive(now)
        return bucket.take(at: now)
    }

    /// When the next may be sent.
    mutating func next(after now: Timestamp) -> Timestamp {
        forgive(now)
        return bucket.next(after: now)
    }

    /// Halves the pace, at most once a second: several refusals at one time are one complaint.
    mutating func slowDown(at now: Timestamp) {
        if let complainedAt, now - complainedAt < .seconds(1) { return }
        forgive(now)
        complainedAt = now
        setPace(max(usual / 64, bucket.perSecond / 2))
        bucket.empty(at: now)
    }

    /// Returns to the usual pace, because the relay did not complain about it.
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

    /// A pace that is not the usual one has no burst.
    private mutating func setPace(_ perSecond: Double) {
        bucket.perSecond = perSecond
        bucket.capacity = perSecond < usual ? 1 : burst
    }
}

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
