public import PluginKit
import Synchronization
import Units

/// Firebase Cloud Messaging, for one app: HTTP/2 with an OAuth access token of a service account.
public final class FCMTransport: PluginTransport {
    public static let platform: StaticString = "android"
    public static let description: StaticString? = FCMDescription.json

    /// Two rounds of token and message fit into the host's time limit for a delivery.
    private static let timeout: Duration = .seconds(15)

    private let host: Host
    private let now: @Sendable () -> Timestamp
    private let reports: FCMReports
    private let sendURL: String
    private let isDirectBootOK: Bool
    private let tokenSource: AccessTokenSource
    private let tokens = Mutex(AccessTokenCache<PendingMessage>())
    /// Whether FCM accepted a message for any device: then the project has devices, and the service account belongs to
    /// it.
    private let hasDelivered = Atomic(false)

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        let configuration = try FCMConfiguration(configuration)
        self.host = host
        self.now = now
        reports = FCMReports(host)
        tokenSource = AccessTokenSource(configuration.account, host: host, now: now)
        isDirectBootOK = configuration.isDirectBootOK
        sendURL = "\(configuration.origin)/v1/projects/\(configuration.projectID)/messages:send"
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard RegistrationToken.isPlausible(registration.token) else {
            throw PluginError(
                "token: expected an FCM registration token, \(RegistrationToken.lengths.lowerBound) to "
                    + "\(RegistrationToken.lengths.upperBound) letters, digits, -, _ and :"
            )
        }
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        guard RegistrationToken.isPlausible(registration.token) else { return .invalid }
        do throws(MessageError) {
            let body = try FCMMessage.make(
                notification,
                to: registration.token,
                isDirectBootOK: isDirectBootOK,
                now: now()
            )
            guard let body else { return .unsupported }
            return attempt(PendingMessage(ticket: ticket, body: body))
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    public func cancel(_ number: UInt64) {
        let message = tokens.withLock { $0.withdraw { $0.ticket.number == number } }
        message?.ticket.complete(Outcome(.retry, reason: "cancelled"))
    }

    /// Sends the message as soon as there is an access token.
    private func attempt(_ message: PendingMessage) -> Admission {
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

    private func send(_ message: PendingMessage, _ token: AccessTokenCache<PendingMessage>.Token) -> Admission {
        var request = HTTPRequest("POST", url: sendURL, options: .multiplex)
        request.timeout = FCMTransport.timeout
        request.maxResponseBytes = 16_384
        request.addHeader("authorization", token.authorization)
        request.addHeader("content-type", "application/json")
        request.body = message.body
        return host.send(request) { [self] response in
            finish(message, FCMAnswer(response, now: now()).verdict, token)
        }
    }

    private func finish(
        _ message: PendingMessage,
        _ verdict: FCMAnswer.Verdict,
        _ token: AccessTokenCache<PendingMessage>.Token
    ) {
        switch verdict {
        case .outcome(let outcome):
            if outcome.kind == .delivered {
                hasDelivered.store(true, ordering: .relaxed)
            } else {
                reports.report(outcome, now: now())
            }
            message.ticket.complete(outcome)
        case .senderIDMismatch: message.ticket.complete(outcomeOfMismatch())
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

    /// A registration of another project's token is gone. But if every device seems to belong to another project, the
    /// service account does: then no device may be lost.
    private func outcomeOfMismatch() -> Outcome {
        let reason = FCMErrorCode.senderIDMismatch.label
        let isProven = hasDelivered.load(ordering: .relaxed)
        let outcome = Outcome(isProven ? .gone : .retry, status: 403, reason: reason)
        reports.report(outcome, now: now())
        return outcome
    }

    /// Completes the ticket of a message that was accepted earlier and cannot be sent now.
    private func settle(_ message: PendingMessage, _ admission: Admission) {
        if case .accepted = admission { return }
        message.ticket.complete(Outcome(.retry, reason: "busy"))
    }
}

/// A message in flight.
struct PendingMessage: Sendable {
    let ticket: Ticket
    /// The body of the request, the same on every attempt.
    let body: [UInt8]
    /// FCM refused the first attempt's access token.
    var isSecondAttempt = false
}

/// Google's id of an app on a device: an instance id, a colon and more, all letters, digits, `-` and `_`. Google does
/// not specify form and length and may change them.
enum RegistrationToken {
    /// In bytes. Today's tokens have 140 to 170.
    static let lengths = 64...1024

    static func isPlausible(_ text: BorrowedText) -> Bool {
        lengths.contains(text.count) && text.bytes.allSatisfy { $0.isASCIILetterOrDigit || $0.isOne(of: "-_:") }
    }
}
