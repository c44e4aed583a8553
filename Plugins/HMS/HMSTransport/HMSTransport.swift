public import PluginKit
import Synchronization
import Units

/// Huawei's Push Kit, for one app: its REST API of version 1, with an OAuth access token of the app's.
public final class HMSTransport: PluginTransport {
    public static let platform: StaticString = "hms"
    public static let description: StaticString? = HMSDescription.json

    private let now: @Sendable () -> Timestamp
    private let reports: HMSReports
    private let allowsHighPriority: Bool
    private let credentials: ClientCredentials
    private let sender: AuthorizedSender
    /// Whether Huawei accepted a message for any device: then the app has devices, and the credentials belong to it.
    private let hasDelivered = Atomic(false)

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        let configuration = try HMSConfiguration(configuration)
        self.now = now
        reports = HMSReports(host)
        allowsHighPriority = configuration.allowsHighPriority
        credentials = ClientCredentials(configuration, host: host, now: now)
        sender = AuthorizedSender(
            url: configuration.sendURL,
            host: host,
            now: now,
            reports: reports,
            requestToken: credentials.request
        )
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard PushToken.isPlausible(registration.token) else {
            throw PluginError(
                "token: expected a token of Push Kit, \(PushToken.lengths.lowerBound) to "
                    + "\(PushToken.lengths.upperBound) letters, digits, -, _, :, . and ="
            )
        }
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        guard PushToken.isPlausible(registration.token) else { return .invalid }
        do throws(MessageError) {
            let body = try HMSMessage.make(
                notification,
                to: registration.token,
                allowsHighPriority: allowsHighPriority,
                now: now()
            )
            guard let body else { return .unsupported }
            let token = registration.token.string
            return sender.send(ticket, body) { [self] in verdict(on: $0, of: token) }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    public func cancel(_ number: UInt64) {
        sender.cancel(number)
    }

    /// `check` asks for an access token.
    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Admission {
        switch words {
        case ["check"]:
            credentials.request { answer in
                switch answer {
                case .granted: completion(.accepted())
                case .failed(let outcome): completion(.check(outcome))
                }
            }
        case ["help"]: completion(.helpOnCheck)
        default: return .unsupported
        }
        return .accepted
    }

    private func verdict(on response: borrowing HTTPResponse, of token: String) -> AuthorizedSender.Verdict {
        let now = now()
        switch HMSAnswer(response, to: token, now: now).verdict {
        case .unauthenticated: return .unauthenticated
        case .outcome(let outcome):
            if outcome.kind == .delivered {
                hasDelivered.store(true, ordering: .relaxed)
            } else {
                reports.report(outcome, now: now)
            }
            return .outcome(outcome)
        case .foreign(let outcome):
            let isProven = hasDelivered.load(ordering: .relaxed)
            let outcome = isProven ? outcome : Outcome(.retry, status: outcome.status, reason: outcome.reason)
            reports.report(outcome, now: now)
            return .outcome(outcome)
        }
    }
}

/// Huawei's id of an app on a device. Huawei does not specify form and length.
enum PushToken {
    /// In bytes. Today's tokens have 100 to 180.
    static let lengths = 32...1024

    static func isPlausible(_ text: BorrowedText) -> Bool {
        lengths.contains(text.count) && text.bytes.allSatisfy { $0.isASCIILetterOrDigit || $0.isOne(of: "-_:.=") }
    }
}

/// Logs what the operator has to look at, seldom. Reasons are ours, never Huawei's texts.
struct HMSReports: AuthorizationReports {
    private let log: SeldomLog<String>

    init(_ host: Host) {
        log = SeldomLog(host)
    }

    /// Reports a refused message.
    func report(_ outcome: Outcome, now: Timestamp) {
        let message: String
        switch (outcome.kind, outcome.reason) {
        case (.misconfigured, "unauthenticated"):
            message = "Push Kit refuses an access token that is new: is app_id the app that client_secret belongs to?"
        case (.misconfigured, "app-not-found"):
            message = "Push Kit does not know the app: check app_id and origin"
        case (.retry, "forbidden"), (.rejected, "forbidden"):
            message =
                "Push Kit says that the app may not send to a device: is Push Kit enabled for the app, is app_id right?"
        case (.retry, "invalid-token"):
            message = "Push Kit knows none of the devices so far: check app_id"
        case (.rejected, "importance-forbidden"):
            message = "Huawei has not allowed the app notifications of high importance, which a rule asks for"
        default: return
        }
        log.log(outcome.reason, .error, now: now, message)
    }

    /// Reports that there is no access token.
    func reportNoToken(_ outcome: Outcome, now: Timestamp) {
        switch outcome.kind {
        case .misconfigured:
            log.log(
                outcome.reason,
                .error,
                now: now,
                "Huawei gives the app no access token: check app_id and client_secret"
            )
        default: log.log(outcome.reason, .warning, now: now, "no access token from Huawei for now: \(outcome.reason)")
        }
    }
}
