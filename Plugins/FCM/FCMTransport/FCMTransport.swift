public import PluginKit
import Synchronization

/// Firebase Cloud Messaging, for one app: HTTP/2 with an OAuth access token of a service account.
public final class FCMTransport: PluginTransport {
    public static let platform: StaticString = "android"

    /// Two rounds of token and message fit into what the host waits for a delivery. In milliseconds.
    private static let messageTimeout: UInt32 = 15_000
    static let tokenTimeout: UInt32 = 10_000

    let host: Host
    let account: ServiceAccount
    let now: @Sendable () -> Int64
    /// By outcomes' reasons.
    let reports: SeldomLog<String>
    private let sendURL: String
    private let isDirectBootOK: Bool
    private let tokens = Mutex(AccessTokenDesk<PendingMessage>())
    /// Whether FCM took a message for any device: then the project has devices, and the service account is its own.
    private let hasDelivered = Atomic(false)

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: WallClock.milliseconds)
    }

    /// `now` is in milliseconds since 1970.
    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Int64) throws(PluginError) {
        let configuration = try FCMConfiguration(configuration)
        self.host = host
        self.now = now
        reports = SeldomLog(host)
        account = configuration.account
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
        do throws(MessageMistake) {
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

    /// Sends `message` as soon as there is a token.
    private func attempt(_ message: PendingMessage) -> Admission {
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

    private func tokenArrived(_ answer: TokenAnswer, askedAt: Int64) {
        switch answer {
        case .granted(let grant):
            let (token, waiters) = tokens.withLock { $0.granted(grant, askedAt: askedAt) }
            for message in waiters {
                settle(message, send(message, token))
            }
        case .failed(let outcome):
            reportTrouble(outcome)
            let now = now()
            for message in tokens.withLock({ $0.failed(outcome, now: now) }) {
                message.ticket.complete(outcome)
            }
        }
    }

    private func send(_ message: PendingMessage, _ token: AccessTokenDesk<PendingMessage>.Token) -> Admission {
        var request = HTTPRequest("POST", url: sendURL, options: .multiplex)
        request.timeout = FCMTransport.messageTimeout
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
        _ token: AccessTokenDesk<PendingMessage>.Token
    ) {
        switch verdict {
        case .outcome(let outcome):
            if outcome.kind == .delivered {
                hasDelivered.store(true, ordering: .relaxed)
            } else {
                report(outcome)
            }
            message.ticket.complete(outcome)
        case .senderIDMismatch: message.ticket.complete(outcomeOfMismatch())
        case .unauthenticated:
            tokens.withLock { $0.discard(generation: token.generation) }
            if message.isSecondAttempt {
                let outcome = Outcome(.misconfigured, status: 401, reason: "unauthenticated")
                report(outcome)
                message.ticket.complete(outcome)
            } else {
                var again = message
                again.isSecondAttempt = true
                settle(again, attempt(again))
            }
        }
    }

    /// Whoever registers the token of another project loses that device and nobody else does. But where every device seems
    /// to be of another project, it is the service account that is: then all of them are kept.
    private func outcomeOfMismatch() -> Outcome {
        let reason = FCMErrorCode.senderIDMismatch.label
        let isProven = hasDelivered.load(ordering: .relaxed)
        let outcome = Outcome(isProven ? .gone : .retry, status: 403, reason: reason)
        report(outcome)
        return outcome
    }

    /// What was accepted long ago cannot be refused any more.
    private func settle(_ message: PendingMessage, _ admission: Admission) {
        if case .accepted = admission { return }
        message.ticket.complete(Outcome(.retry, reason: "busy"))
    }
}
