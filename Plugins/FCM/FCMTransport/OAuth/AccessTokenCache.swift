import Core
import PluginKit

/// The access token in use and the messages that wait for one: a pure state machine with at most one token request in
/// flight. A token is renewed while the old one is still valid, so that usually only the first message waits.
struct AccessTokenCache<Waiter: Sendable>: Sendable {
    struct Token: Sendable, Hashable {
        /// The value of `authorization`.
        let authorization: String
        /// The number of the token. Distinguishes responses to an old token from responses to the current one.
        let generation: Int
    }

    enum Reply: Sendable {
        case use(Token)
        /// ``granted(_:askedAt:)`` or ``failed(_:now:)`` returns the waiter later.
        case wait
        /// The queue is full.
        case full
        /// The latest token request failed recently.
        case failed(Outcome)
    }

    /// The maximum number of waiters.
    static var waiterLimit: Int { 1024 }
    /// How long before its expiry a token is renewed.
    static var renewalLead: Duration { .minutes(5) }
    /// The exponent of the longest backoff: after consecutive failures the pause is 1 s, 2 s, 4 s, … 64 s.
    private static var longestPauseExponent: Int { 6 }
    /// The longest pause that a token endpoint can ask for.
    private static var longestPause: Duration { .hours(1) }

    private struct Serving: Sendable {
        let token: Token
        let renewsAt: Timestamp
        let endsAt: Timestamp
    }

    private struct Pause: Sendable {
        let outcome: Outcome
        let failures: Int
        let endsAt: Timestamp
    }

    private var serving: Serving?
    private var pause: Pause?
    private var waiting: [Waiter] = []
    private var isRequestUnderWay = false
    private var generation = 0

    /// Makes an empty cache.
    init() {}

    /// Asks for the token. `mustRequest`: the caller must request a token now and report the result.
    mutating func ask(_ waiter: Waiter, now: Timestamp) -> (reply: Reply, mustRequest: Bool) {
        if let serving, now < serving.endsAt {
            let mustRequest = now >= serving.renewsAt && !isRequestUnderWay && !isPausing(now)
            isRequestUnderWay = isRequestUnderWay || mustRequest
            return (.use(serving.token), mustRequest)
        }
        if !isRequestUnderWay, let pause, isPausing(now) {
            var outcome = pause.outcome
            if outcome.kind == .retry {
                outcome.retryAfter = pause.endsAt - now
            }
            return (.failed(outcome), false)
        }
        guard waiting.count < Self.waiterLimit else { return (.full, false) }
        waiting.append(waiter)
        defer { isRequestUnderWay = true }
        return (.wait, !isRequestUnderWay)
    }

    /// Handles a token that was requested at `askedAt`. Returns it and all waiters.
    mutating func granted(_ grant: AccessGrant, askedAt: Timestamp) -> (token: Token, waiters: [Waiter]) {
        generation += 1
        let token = Token(authorization: grant.authorization, generation: generation)
        let lead = min(Self.renewalLead, grant.lifetime / 2)
        serving = Serving(token: token, renewsAt: askedAt + grant.lifetime - lead, endsAt: askedAt + grant.lifetime)
        pause = nil
        return (token, endRequest())
    }

    /// Handles a failed token request. Returns all waiters. No token is requested during a pause that grows with each
    /// failure; the outcome can lengthen it to up to an hour.
    mutating func failed(_ outcome: Outcome, now: Timestamp) -> [Waiter] {
        let failures = (pause?.failures ?? 0) + 1
        let length = Duration.seconds(1 << min(failures - 1, Self.longestPauseExponent))
        pause = Pause(
            outcome: outcome,
            failures: failures,
            endsAt: now + min(max(length, outcome.retryAfter), Self.longestPause)
        )
        return endRequest()
    }

    /// Discards the token of a generation, which was refused.
    mutating func discard(generation: Int) {
        if serving?.token.generation == generation {
            serving = nil
        }
    }

    /// Removes the first waiter that matches; nil if there is none.
    mutating func withdraw(where matches: (Waiter) -> Bool) -> Waiter? {
        waiting.firstIndex(where: matches).map { waiting.remove(at: $0) }
    }

    /// Whether requests are paused. The pause also ends if the clock was set back.
    private func isPausing(_ now: Timestamp) -> Bool {
        pause.map { $0.endsAt > now && $0.endsAt - now <= Self.longestPause } ?? false
    }

    private mutating func endRequest() -> [Waiter] {
        isRequestUnderWay = false
        defer { waiting = [] }
        return waiting
    }
}

/// An access token from the token endpoint (RFC 6749 section 5.1).
struct AccessGrant: Sendable, Hashable {
    /// The value of `authorization`: `Bearer …`.
    let authorization: String
    /// How long the token is valid after the request.
    let lifetime: Duration

    /// Takes the header's value unchanged.
    init(authorization: String, lifetime: Duration) {
        self.authorization = authorization
        self.lifetime = lifetime
    }
}
