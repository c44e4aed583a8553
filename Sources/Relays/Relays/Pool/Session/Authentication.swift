import Core
import Nostr

/// The state of our authentication at a relay (NIP-42) on one connection.
struct Authentication: Hashable, Sendable {
    private enum State: Hashable, Sendable {
        case untried
        /// Asked of the shell, or sent, at that moment.
        case underway(EventID?, since: Timestamp)
        case accepted
        case refused
    }

    /// Answers given on one connection at most, since each is signed.
    private static let attemptLimit = 20
    /// The longest challenge that is answered, in bytes.
    private static let challengeLength = 1_024

    private var challenge: String?
    private var state = State.untried
    private var attempts = 0
    /// The relay wants to know who we are.
    private var isWanted = false
    /// No REQ before that moment, since the relay wants to know who we are first.
    private(set) var holdUntil: Timestamp?

    init() {}

    /// Begins a connection to a relay that wants to know who we are first.
    init(holdUntil: Timestamp) {
        isWanted = true
        self.holdUntil = holdUntil
    }

    /// Whether a refusal cannot be answered by authenticating.
    private var isExhausted: Bool { state == .accepted || state == .refused || attempts >= Self.attemptLimit }

    /// What a refusal means to us: one that would last is first answered by saying who we are, once.
    func meaning(of refusal: Refusal) -> Refusal {
        switch refusal {
        case .authenticate: isExhausted ? .never : .authenticate
        case .never: challenge != nil && !isExhausted ? .authenticate : .never
        default: refusal
        }
    }

    /// Takes a challenge. Returns it if it is to be answered now.
    mutating func challenged(_ text: String, now: Timestamp) -> String? {
        guard text != challenge, text.utf8.count <= Self.challengeLength else { return nil }
        challenge = text
        state = .untried
        return isWanted ? begin(now: now) : nil
    }

    /// The relay wants to know who we are. Returns the challenge if there is one that is to be answered now.
    mutating func want(now: Timestamp) -> String? {
        isWanted = true
        return begin(now: now)
    }

    private mutating func begin(now: Timestamp) -> String? {
        guard let challenge, state == .untried, attempts < Self.attemptLimit else { return nil }
        attempts += 1
        state = .underway(nil, since: now)
        return challenge
    }

    mutating func sent(_ id: EventID, now: Timestamp) { state = .underway(id, since: now) }

    /// Takes the relay's answer. Returns false if it is about something else.
    mutating func answered(_ id: EventID, isAccepted: Bool) -> Bool {
        guard case .underway(id, _) = state else { return false }
        state = isAccepted ? .accepted : .refused
        holdUntil = nil
        return true
    }

    /// When to go on as if the relay had accepted: not every relay gives an answer.
    func deadline(_ patience: Duration) -> Timestamp? {
        guard case .underway(_, let since) = state else { return nil }
        return since + patience
    }

    /// Assumes that the relay accepted.
    mutating func presume() {
        state = .accepted
        holdUntil = nil
    }
}
