import Nostr

/// How far we are with proving to a relay who we are (NIP-42).
struct Authentication: Hashable, Sendable {
    enum State: Hashable, Sendable {
        case untried
        /// Asked of the shell, or sent, at that moment.
        case underway(EventID?, since: Int64)
        case accepted
        case refused
    }

    private(set) var challenge: String?
    private(set) var state = State.untried
    private var attempts = 0

    /// Answers given on one connection at most, since each is signed.
    private static let attemptLimit = 20

    /// Whether a refusal cannot be answered by authenticating.
    var isExhausted: Bool { state == .accepted || state == .refused || attempts >= Self.attemptLimit }

    /// When to go on without an answer: not every relay gives one.
    func deadline(_ patience: Int64) -> Int64? {
        guard case .underway(_, let since) = state else { return nil }
        return since + patience
    }

    /// Takes a challenge. Returns false if it is the one we have, or none anybody would make.
    mutating func challenged(_ text: String) -> Bool {
        guard text != challenge, text.utf8.count <= 1_024 else { return false }
        challenge = text
        state = .untried
        return true
    }

    /// The challenge to be answered now; nil if there is none or it is being or was answered.
    mutating func begin(now: Int64) -> String? {
        guard let challenge, state == .untried, attempts < Self.attemptLimit else { return nil }
        attempts += 1
        state = .underway(nil, since: now)
        return challenge
    }

    mutating func sent(_ id: EventID, now: Int64) {
        state = .underway(id, since: now)
    }

    /// Takes the relay's answer. Returns false if it is about something else.
    mutating func answered(_ id: EventID, isAccepted: Bool) -> Bool {
        guard case .underway(id, _) = state else { return false }
        state = isAccepted ? .accepted : .refused
        return true
    }

    /// Takes it for granted that the relay accepted.
    mutating func presume() {
        state = .accepted
    }
}
