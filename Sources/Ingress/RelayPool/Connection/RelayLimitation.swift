import HTTPLanes
import JSON
import Nostr
import Units

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
