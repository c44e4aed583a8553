import Core
public import PluginKit

/// Firebase Cloud Messaging, for one app: HTTP/2 with an OAuth access token of a service account.
public final class FCMTransport: PluginTransport {
    public static let platform: StaticString = "android"
    public static let description: StaticString? = FCMDescription.json

    private let now: @Sendable () -> Timestamp
    private let isDirectBootOK: Bool
    /// Caches the message of an event that goes to many devices.
    private let payloads = RepeatedPayload()
    private let sender: MessageSender

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        let configuration = try FCMConfiguration(configuration)
        self.now = now
        isDirectBootOK = configuration.isDirectBootOK
        sender = MessageSender(configuration, host: host, now: now)
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
    ) -> Acceptance {
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
            return sender.send(ticket, body)
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    public func cancel(_ number: UInt64) {
        sender.cancel(number)
    }
}

/// Google's id of an app on a device: an instance id, a colon and more, all letters, digits, `-` and `_`. Google does
/// not specify format and length and may change them.
enum RegistrationToken {
    /// The allowed lengths in bytes. Today's tokens have 140 to 170.
    static let lengths = 64...1024

    static func isPlausible(_ text: BorrowedText) -> Bool {
        lengths.contains(text.count) && text.bytes.allSatisfy { $0.isASCIILetterOrDigit || $0.isOne(of: "-_:") }
    }
}

/// Logs problems for the operator, rate-limited. Reasons are ours, never Google's texts.
struct FCMReports: Sendable {
    private let log: RateLimitedLog<String>

    init(_ host: Host) {
        log = RateLimitedLog(host)
    }

    /// Reports a refused message.
    func report(_ outcome: Outcome, now: Timestamp) {
        let message: String
        var level = LogLevel.error
        switch (outcome.kind, outcome.reason) {
        case (.misconfigured, "unauthenticated"):
            message = "FCM refused a new access token: check that project_id is the service account's project"
        case (.misconfigured, "permission-denied"):
            message =
                "FCM did not allow the service account to send: give it the role Firebase Cloud Messaging API Admin, and enable "
                + "that API in the project"
        case (.misconfigured, "project-not-found"):
            message = "FCM does not know the project: check project_id"
        case (.retry, FCMErrorCode.senderIDMismatch.label):
            message = "FCM reported that a device belongs to another project: check project_id and the service account"
        case (.rejected, FCMErrorCode.thirdPartyAuthError.label):
            level = .warning
            message =
                "a token of an app on Apple's systems or in browsers was registered as android, and what Firebase holds to "
                + "reach those is refused"
        default: return
        }
        log.log(outcome.reason, level, now: now, message)
    }

    /// Reports a missing access token.
    func reportNoToken(_ outcome: Outcome, now: Timestamp) {
        switch (outcome.kind, outcome.reason) {
        case (.misconfigured, OAuthError.invalidGrant.label):
            log.log(
                outcome.reason,
                .error,
                now: now,
                "Google refused the service account (invalid_grant): check this machine's clock, and whether the key was deleted"
            )
        case (.misconfigured, let reason):
            log.log(reason, .error, now: now, "Google gave the service account no access token: \(reason)")
        case (_, let reason):
            log.log(reason, .warning, now: now, "could not get an access token from Google: \(reason)")
        }
    }
}
