import Core
import Nostr

/// The router's authentication state at a relay (NIP-42) on one connection.
struct Authentication: Hashable, Sendable {
    private enum State: Hashable, Sendable {
        case untried
        /// Requested from the shell, or sent, at that moment.
        case underway(EventID?, since: Timestamp)
        case accepted
        case refused
    }

    /// Up to this many responses are sent on one connection, because each needs a signature.
    private static let attemptLimit = 20
    /// The longest challenge that the router answers, in bytes.
    private static let challengeLength = 1_024

    private var challenge: String?
    private var state = State.untried
    private var attempts = 0
    /// Whether the relay asked for authentication.
    private var isWanted = false
    /// The router sends no REQ before that moment, because the relay requires authentication first.
    private(set) var holdUntil: Timestamp?

    init() {}

    /// Starts a connection to a relay that requires authentication first.
    init(holdUntil: Timestamp) {
        isWanted = true
        self.holdUntil = holdUntil
    }

    /// Whether authenticating can no longer help after a refusal.
    private var isExhausted: Bool { state == .accepted || state == .refused || attempts >= Self.attemptLimit }

    /// Returns the meaning of a refusal. Before a permanent refusal is accepted, the router authenticates once.
    func meaning(of refusal: RejectReason) -> RejectReason {
        switch refusal {
        case .authenticate: isExhausted ? .never : .authenticate
        case .never: challenge != nil && !isExhausted ? .authenticate : .never
        default: refusal
        }
    }

    /// Takes a challenge. Returns it if the router must answer it now.
    mutating func challenged(_ text: String, now: Timestamp) -> String? {
        guard text != challenge, text.utf8.count <= Self.challengeLength else { return nil }
        challenge = text
        state = .untried
        return isWanted ? begin(now: now) : nil
    }

    /// Notes that the relay asks for authentication. Returns the challenge if the router must answer one now.
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

    /// Takes the relay's response. Returns false if it is about something else.
    mutating func answered(_ id: EventID, isAccepted: Bool) -> Bool {
        guard case .underway(id, _) = state else { return false }
        state = isAccepted ? .accepted : .refused
        holdUntil = nil
        return true
    }

    /// When to continue as if the relay had accepted: not every relay responds.
    func deadline(_ timeout: Duration) -> Timestamp? {
        guard case .underway(_, let since) = state else { return nil }
        return since + timeout
    }

    /// Assumes that the relay accepted.
    mutating func presume() {
        state = .accepted
        holdUntil = nil
    }
}
