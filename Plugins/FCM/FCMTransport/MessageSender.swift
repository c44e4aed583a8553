import Core
import PluginKit
import Synchronization

/// Sends messages with an OAuth access token. It requests a token once for all waiting messages, and sends a message
/// again if FCM refuses the token.
final class MessageSender: Sendable {
    private struct Message: Sendable {
        let ticket: Ticket
        /// The body of the request, the same on every attempt.
        let body: [UInt8]
        /// Whether FCM refused the first attempt's access token.
        var isSecondAttempt = false
    }

    private typealias Tokens = AccessTokenCache<Message>

    /// Two rounds of token and message fit into the host's time limit for a delivery.
    private static let timeout: Duration = .seconds(15)

    private let url: String
    private let host: Host
    private let now: @Sendable () -> Timestamp
    private let reports: FCMReports
    private let tokenSource: AccessTokenSource
    private let tokens = Mutex(Tokens())
    /// Whether FCM accepted a message for any device: then the project has devices, and the service account belongs to
    /// it.
    private let hasDelivered = Atomic(false)

    init(_ configuration: FCMConfiguration, host: Host, now: @escaping @Sendable () -> Timestamp) {
        url = "\(configuration.baseURL)/v1/projects/\(configuration.projectID)/messages:send"
        self.host = host
        self.now = now
        reports = FCMReports(host)
        tokenSource = AccessTokenSource(configuration.account, host: host, now: now)
    }

    /// Sends `body` as soon as there is an access token.
    func send(_ ticket: Ticket, _ body: [UInt8]) -> Acceptance { attempt(Message(ticket: ticket, body: body)) }

    /// Ends a delivery that still waits for an access token.
    func cancel(_ number: UInt64) {
        let message = tokens.withLock { $0.withdraw { $0.ticket.number == number } }
        message?.ticket.complete(Outcome(.retry, reason: "cancelled"))
    }

    private func attempt(_ message: Message) -> Acceptance {
        let now = now()
        let (reply, mustRequest) = tokens.withLock { $0.ask(message, now: now) }
        if mustRequest {
            tokenSource.request { [self] in tokenArrived($0, askedAt: now) }
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

    private func send(_ message: Message, _ token: Tokens.Token) -> Acceptance {
        var request = HTTPRequest("POST", url: url, options: .multiplex)
        request.timeout = MessageSender.timeout
        request.maxResponseBytes = 16_384
        request.addHeader("authorization", token.authorization)
        request.addHeader("content-type", "application/json")
        request.body = message.body
        return host.send(request) { [self] response in
            finish(message, FCMAnswer(response, now: now()).decision, token)
        }
    }

    private func finish(_ message: Message, _ decision: FCMAnswer.Decision, _ token: Tokens.Token) {
        switch decision {
        case .outcome(let outcome):
            if outcome.kind == .delivered {
                hasDelivered.store(true, ordering: .relaxed)
                message.ticket.complete(outcome)
            } else {
                report(outcome, on: message)
            }
        case .senderIDMismatch:
            // A token of another project is gone. But if no message was ever delivered, the service account may belong
            // to another project: then no device may be lost.
            let kind: Outcome.Kind = hasDelivered.load(ordering: .relaxed) ? .gone : .retry
            report(Outcome(kind, status: 403, reason: FCMErrorCode.senderIDMismatch.label), on: message)
        case .unauthenticated:
            tokens.withLock { $0.discard(generation: token.generation) }
            guard !message.isSecondAttempt else {
                return report(Outcome(.misconfigured, status: 401, reason: "unauthenticated"), on: message)
            }
            var again = message
            again.isSecondAttempt = true
            settle(again, attempt(again))
        }
    }

    private func report(_ outcome: Outcome, on message: Message) {
        reports.report(outcome, now: now())
        message.ticket.complete(outcome)
    }

    /// Completes the ticket of a message that was accepted earlier but cannot be sent now.
    private func settle(_ message: Message, _ admission: Acceptance) {
        if case .accepted = admission { return }
        message.ticket.complete(Outcome(.retry, reason: "busy"))
    }
}
