import Core
import PluginKit

/// A response of FCM and its decision. FCM's error code decides; without one, Google's canonical status; without that,
/// the HTTP status.
struct FCMAnswer {
    enum Decision: Hashable {
        case outcome(Outcome)
        /// FCM refused the access token. Another one may be accepted.
        case unauthenticated
        /// The token belongs to another project. The outcome depends on whether ours has any devices.
        case senderIDMismatch
    }

    /// The shortest delay for a project that exceeds its quota.
    static let shortestQuotaPause: Duration = .minutes(1)

    private let status: UInt32
    private let error: GoogleError?
    /// The delay that `Retry-After` asks for.
    private let retryAfter: Duration
    /// The reason why there is no response; only with status 0.
    private let failure: String

    init(_ response: borrowing HTTPResponse, now: Timestamp) {
        status = response.status
        failure = response.failure
        let isRefusal = !(200..<300).contains(response.status)
        error = isRefusal ? GoogleError(parsing: response.body) : nil
        retryAfter = isRefusal ? response.retryAfter(now: now) : .zero
    }

    var decision: Decision {
        guard status != 0 else { return .outcome(Outcome(.retry, reason: failure)) }
        guard !(200..<300).contains(status) else { return outcome(.delivered, "delivered") }
        switch error?.errorCode {
        case .unregistered: return outcome(.gone, "unregistered")
        case .senderIDMismatch: return .senderIDMismatch
        case .invalidArgument: return invalidArgument
        case .quotaExceeded: return quotaExceeded
        case .unavailable?, .internal?: return outcome(.retry, label)
        // Only tokens of the project's apps for iOS and the web get this answer. Anyone can own and register one, so
        // it must not stop the messages to all Android devices.
        case .thirdPartyAuthError?, .apnsAuthError?: return outcome(.rejected, "third-party-auth-error")
        case .unspecified?, nil: return decisionByStatus
        }
    }

    private var decisionByStatus: Decision {
        switch error?.status {
        case "UNAUTHENTICATED": .unauthenticated
        case "PERMISSION_DENIED": outcome(.misconfigured, "permission-denied")
        // Without an FcmError, the project was not found, not the device.
        case "NOT_FOUND": outcome(.misconfigured, "project-not-found")
        case "INVALID_ARGUMENT": invalidArgument
        case "RESOURCE_EXHAUSTED": quotaExceeded
        case "UNAVAILABLE": outcome(.retry, "unavailable")
        case "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED": outcome(.retry, "server-error")
        default: decisionByHTTP
        }
    }

    private var decisionByHTTP: Decision {
        switch status {
        case 400: invalidArgument
        case 401: .unauthenticated
        case 403: outcome(.misconfigured, "permission-denied")
        case 404: outcome(.misconfigured, "project-not-found")
        case 408: outcome(.retry, "timeout")
        case 413: outcome(.rejected, "payload-too-large")
        case 429: quotaExceeded
        case 300...399: outcome(.rejected, "redirect")
        case 400...499: outcome(.rejected, "other")
        default: outcome(.retry, "server-error")
        }
    }

    private var invalidArgument: Decision {
        guard let error else { return outcome(.rejected, "invalid-argument") }
        if error.isAboutToken { return outcome(.gone, "invalid-token") }
        return outcome(.rejected, error.isAboutSize ? "payload-too-large" : "invalid-argument")
    }

    private var quotaExceeded: Decision {
        .outcome(
            Outcome(
                .retry,
                status: status,
                retryAfter: max(retryAfter, FCMAnswer.shortestQuotaPause),
                reason: "quota-exceeded",
                scope: error?.isAboutDeviceQuota == true ? .device : .transport
            )
        )
    }

    private var label: String { error?.errorCode?.label ?? "server-error" }

    private func outcome(_ kind: Outcome.Kind, _ reason: String) -> Decision {
        .outcome(Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : .zero, reason: reason))
    }
}

/// The body of an error response of Google's APIs (google.rpc.Status):
/// `{"error":{"code","message","status","details":[…]}}`.
struct GoogleError {
    /// A canonical code such as `NOT_FOUND`.
    let status: String?
    private let message: String
    /// The code in the detail of type FcmError.
    let errorCode: FCMErrorCode?
    /// The fields reported by the details of type BadRequest.
    private let violations: [String]
    /// The exhausted quotas in the details of type QuotaFailure: subjects and descriptions.
    private let quotaViolations: [String]

    /// Parses a body. Bodies of proxies and overloaded servers may not be JSON; then all members are empty.
    init(parsing body: BorrowedText) {
        let error = (try? JSONObject(parsing: body.bytes))?["error"]?.object
        status = error?["status"]?.string
        message = error?["message"]?.string ?? ""
        let details = (error?["details"]?.elements ?? []).compactMap(\.object)
        errorCode = details.lazy
            .filter { $0["@type"]?.string?.hasSuffix("google.firebase.fcm.v1.FcmError") == true }
            .compactMap { $0["errorCode"]?.string }.first.map { FCMErrorCode(rawValue: $0) ?? .unspecified }
        violations = GoogleError.entries("fieldViolations", ofType: "google.rpc.BadRequest", in: details)
            .compactMap { $0["field"]?.string }
        quotaViolations = GoogleError.entries("violations", ofType: "google.rpc.QuotaFailure", in: details)
            .flatMap { [$0["subject"]?.string, $0["description"]?.string] }.compactMap(\.self)
    }

    private static func entries(_ name: StaticString, ofType type: String, in details: [JSONObject]) -> [JSONObject] {
        details.filter { $0["@type"]?.string?.hasSuffix(type) == true }
            .flatMap { $0[name]?.elements ?? [] }.compactMap(\.object)
    }

    /// Whether Google reports that the token is malformed.
    var isAboutToken: Bool {
        violations.contains("message.token") || message.contains("registration token is not a valid")
    }

    /// "Android message is too big".
    var isAboutSize: Bool { message.contains("too big") || message.contains("too large") }

    /// Whether a device's quota is exhausted, which anyone can cause, not the project's.
    var isAboutDeviceQuota: Bool {
        !quotaViolations.isEmpty && quotaViolations.contains { $0.lowercased().contains("device") }
    }
}

/// FCM's own error codes ("ErrorCode" in the reference of its v1 API).
enum FCMErrorCode: String, CaseIterable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case `internal` = "INTERNAL"
    /// Firebase's credentials for Apple's or the browsers' services are wrong.
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    /// The former name of `thirdPartyAuthError`.
    case apnsAuthError = "APNS_AUTH_ERROR"

    /// Google's code in the format of an outcome's reason: `sender-id-mismatch`.
    var label: String { String(rawValue.map { $0 == "_" ? "-" : Character($0.lowercased()) }) }
}
