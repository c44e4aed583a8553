import Synchronization
import Units

/// Sends messages that need an OAuth access token. It requests a token once for all messages that wait for it, and
/// sends a message once more where the push service refuses the token.
package final class AuthorizedSender: Sendable {
    /// What an answer to a message means.
    package enum Verdict: Sendable, Hashable {
        case outcome(Outcome)
        /// The access token is refused. Another one may be accepted.
        case unauthenticated
    }

    /// Interprets an answer of the push service.
    package typealias Judge = @Sendable (borrowing HTTPResponse) -> Verdict
    /// Asks the token endpoint, and calls its argument once, perhaps before it returns.
    package typealias TokenRequest = @Sendable (@escaping @Sendable (TokenAnswer) -> Void) -> Void

    private struct Message: Sendable {
        let ticket: Ticket
        /// The body of the request, the same on every attempt.
        let body: [UInt8]
        let judge: Judge
        /// The push service refused the first attempt's access token.
        var isSecondAttempt = false
    }

    private typealias Tokens = AccessTokenCache<Message>

    /// Two rounds of token and message fit into the host's time limit for a delivery.
    private static let timeout: Duration = .seconds(15)

    private let url: String
    private let options: HTTPRequest.Options
    private let host: Host
    private let now: @Sendable () -> Timestamp
    private let reports: any AuthorizationReports
    private let requestToken: TokenRequest
    private let tokens = Mutex(Tokens())

    /// `url` takes all messages, as JSON by `POST`.
    package init(
        url: String,
        options: HTTPRequest.Options = [],
        host: Host,
        now: @escaping @Sendable () -> Timestamp,
        reports: any AuthorizationReports,
        requestToken: @escaping TokenRequest
    ) {
        self.url = url
        self.options = options
        self.host = host
        self.now = now
        self.reports = reports
        self.requestToken = requestToken
    }

    /// Sends `body` as soon as there is an access token.
    package func send(_ ticket: Ticket, _ body: [UInt8], judge: @escaping Judge) -> Admission {
        attempt(Message(ticket: ticket, body: body, judge: judge))
    }

    /// Ends a delivery that still waits for an access token.
    package func cancel(_ number: UInt64) {
        let message = tokens.withLock { $0.withdraw { $0.ticket.number == number } }
        message?.ticket.complete(Outcome(.retry, reason: "cancelled"))
    }

    private func attempt(_ message: Message) -> Admission {
        let now = now()
        let (reply, mustRequest) = tokens.withLock { $0.ask(message, now: now) }
        if mustRequest {
            requestToken { [self] in tokenArrived($0, askedAt: now) }
        }
        switch reply {
        case .use(let token): return send(message, token)
        case .wait: return .accepted
        case .full: return .busy
        case .failed(let outcome):
            message.ticket.complete(outcome)
            return .accepted
        }
    }

    private func tokenArrived(_ answer: TokenAnswer, askedAt: Timestamp) {
        switch answer {
        case .granted(let grant):
            let (token, waiters) = tokens.withLock { $0.granted(grant, askedAt: askedAt) }
            for message in waiters {
                settle(message, send(message, token))
            }
        case .failed(let outcome):
            let now = now()
            reports.reportNoToken(outcome, now: now)
            for message in tokens.withLock({ $0.failed(outcome, now: now) }) {
                message.ticket.complete(outcome)
            }
        }
    }

    private func send(_ message: Message, _ token: Tokens.Token) -> Admission {
        var request = HTTPRequest("POST", url: url, options: options)
        request.timeout = AuthorizedSender.timeout
        request.maxResponseBytes = 16_384
        request.addHeader("authorization", token.authorization)
        request.addHeader("content-type", "application/json")
        request.body = message.body
        return host.send(request) { [self] response in
            finish(message, message.judge(response), token)
        }
    }

    private func finish(_ message: Message, _ verdict: Verdict, _ token: Tokens.Token) {
        switch verdict {
        case .outcome(let outcome): message.ticket.complete(outcome)
        case .unauthenticated:
            tokens.withLock { $0.discard(generation: token.generation) }
            if message.isSecondAttempt {
                let outcome = Outcome(.misconfigured, status: 401, reason: "unauthenticated")
                reports.report(outcome, now: now())
                message.ticket.complete(outcome)
            } else {
                var again = message
                again.isSecondAttempt = true
                settle(again, attempt(again))
            }
        }
    }

    /// Completes the ticket of a message that was accepted earlier and cannot be sent now.
    private func settle(_ message: Message, _ admission: Admission) {
        if case .accepted = admission { return }
        message.ticket.complete(Outcome(.retry, reason: "busy"))
    }
}

/// Logs what the operator has to look at.
package protocol AuthorizationReports: Sendable {
    /// Reports a refused message.
    func report(_ outcome: Outcome, now: Timestamp)
    /// Reports that there is no access token.
    func reportNoToken(_ outcome: Outcome, now: Timestamp)
}
