public import PluginKit
import Synchronization
import Units

/// Firebase Cloud Messaging, for one app: HTTP/2 with an OAuth access token of a service account.
public final class FCMTransport: PluginTransport {
    public static let platform: StaticString = "android"
    public static let description: StaticString? = FCMDescription.json

    private let now: @Sendable () -> Timestamp
    private let reports: FCMReports
    private let isDirectBootOK: Bool
    /// A crowd's message is made once.
    private let payloads = RepeatedPayload()
    private let sender: AuthorizedSender
    /// Whether FCM accepted a message for any device: then the project has devices, and the service account belongs to
    /// it.
    private let hasDelivered = Atomic(false)

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        let configuration = try FCMConfiguration(configuration)
        let tokenSource = AccessTokenSource(configuration.account, host: host, now: now)
        self.now = now
        reports = FCMReports(host)
        isDirectBootOK = configuration.isDirectBootOK
        sender = AuthorizedSender(
            url: "\(configuration.origin)/v1/projects/\(configuration.projectID)/messages:send",
            options: .multiplex,
            host: host,
            now: now,
            reports: reports,
            requestToken: tokenSource.request
        )
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
                payloads: payloads,
                now: now()
            )
            guard let body else { return .unsupported }
            return sender.send(ticket, body) { [self] in verdict(on: $0) }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    public func cancel(_ number: UInt64) {
        sender.cancel(number)
    }

    private func verdict(on response: borrowing HTTPResponse) -> AuthorizedSender.Verdict {
        switch FCMAnswer(response, now: now()).verdict {
        case .outcome(let outcome):
            if outcome.kind == .delivered {
                hasDelivered.store(true, ordering: .relaxed)
            } else {
                reports.report(outcome, now: now())
            }
            return .outcome(outcome)
        case .senderIDMismatch: return .outcome(outcomeOfMismatch())
        case .unauthenticated: return .unauthenticated
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
