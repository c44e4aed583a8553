import PluginKit

/// Which access token requests carry, and who waits for one: a pure machine, with at most one request for a token under
/// way. A token is renewed while the old one still serves, so that in the best case nobody waits but the first.
struct AccessTokenDesk<Waiter: Sendable>: Sendable {
    /// A token in use.
    struct Token: Sendable, Hashable {
        /// The value of `authorization`.
        let authorization: String
        /// Counts the tokens: tells an answer to an old one from an answer to this one.
        let generation: Int
    }

    /// What becomes of one who asks.
    enum Reply: Sendable {
        case use(Token)
        /// ``granted(_:askedAt:)`` or ``failed(_:now:)`` returns the waiter.
        case wait
        /// As many wait as may.
        case full
        /// The last request for a token failed a moment ago.
        case failed(Outcome)
    }

    /// More callers than this never wait at a time.
    static var waiterLimit: Int { 1024 }
    /// A token is renewed so long before its end, in milliseconds.
    static var renewalLead: Int64 { 300_000 }
    /// Of the pauses after failures in a row, which are of 1 s, 2 s, 4 s, … 64 s.
    private static var longestPauseExponent: Int { 6 }
    /// However long a token endpoint asks us to wait, in milliseconds.
    private static var longestPause: Int64 { 3_600_000 }

    private struct Serving: Sendable {
        let token: Token
        let renewsAt: Int64
        let endsAt: Int64
    }

    private struct Trouble: Sendable {
        let outcome: Outcome
        let failures: Int
        let endsAt: Int64
    }

    private var serving: Serving?
    private var trouble: Trouble?
    private var waiting: [Waiter] = []
    private var isRequestUnderWay = false
    private var generation = 0

    /// `now` in milliseconds since 1970. `mustRequest`: the caller has to request a token now and to report what came of it.
    mutating func ask(_ waiter: Waiter, now: Int64) -> (reply: Reply, mustRequest: Bool) {
        if let serving, now < serving.endsAt {
            let mustRequest = now >= serving.renewsAt && !isRequestUnderWay && !isInTrouble(now)
            isRequestUnderWay = isRequestUnderWay || mustRequest
            return (.use(serving.token), mustRequest)
        }
        if !isRequestUnderWay, let trouble, isInTrouble(now) {
            var outcome = trouble.outcome
            if outcome.kind == .retry {
                outcome.retryAfter = UInt32(clamping: trouble.endsAt - now)
            }
            return (.failed(outcome), false)
        }
        guard waiting.count < Self.waiterLimit else { return (.full, false) }
        waiting.append(waiter)
        defer { isRequestUnderWay = true }
        return (.wait, !isRequestUnderWay)
    }

    /// A token came that was requested at `askedAt`. Returns it and all who waited for it.
    mutating func granted(_ grant: AccessGrant, askedAt: Int64) -> (token: Token, waiters: [Waiter]) {
        generation += 1
        let token = Token(authorization: grant.authorization, generation: generation)
        let lead = min(Self.renewalLead, grant.lifetime / 2)
        serving = Serving(
            token: token,
            renewsAt: askedAt + grant.lifetime - lead,
            endsAt: askedAt + grant.lifetime
        )
        trouble = nil
        return (token, endRequest())
    }

    /// No token came, for the reason that `outcome` says. Returns all who waited for one. No token is requested for a
    /// while, which grows with each failure and is no shorter than the outcome asks, up to an hour.
    mutating func failed(_ outcome: Outcome, now: Int64) -> [Waiter] {
        let failures = (trouble?.failures ?? 0) + 1
        let pause = Int64(1000) << min(failures - 1, Self.longestPauseExponent)
        trouble = Trouble(
            outcome: outcome,
            failures: failures,
            endsAt: now + min(max(pause, Int64(outcome.retryAfter)), Self.longestPause)
        )
        return endRequest()
    }

    /// The token of that generation was refused: nobody is given it any more.
    mutating func discard(generation: Int) {
        if serving?.token.generation == generation {
            serving = nil
        }
    }

    /// Takes out the first who waits and matches; nil when there is none.
    mutating func withdraw(where matches: (Waiter) -> Bool) -> Waiter? {
        waiting.firstIndex(where: matches).map { waiting.remove(at: $0) }
    }

    /// A clock that was set back ends the trouble as well.
    private func isInTrouble(_ now: Int64) -> Bool {
        trouble.map { (1...Self.longestPause).contains($0.endsAt - now) } ?? false
    }

    private mutating func endRequest() -> [Waiter] {
        isRequestUnderWay = false
        defer { waiting = [] }
        return waiting
    }
}
