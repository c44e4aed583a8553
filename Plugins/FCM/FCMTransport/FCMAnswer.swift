import PluginKit
import Units

/// An answer of FCM and its verdict. FCM's error code decides; without one, Google's canonical status; without that,
/// the HTTP status.
struct FCMAnswer {
    enum Verdict: Hashable {
        case outcome(Outcome)
        /// The access token is refused. Another one may be accepted.
        case unauthenticated
        /// The token belongs to another project. The outcome depends on whether ours has any devices.
        case senderIDMismatch
    }

    /// The shortest pause of a project that sends too much.
    static let shortestQuotaPause: Duration = .minutes(1)

    private let status: UInt32
    private let error: GoogleError?
    /// The pause that `Retry-After` asks for.
    private let retryAfter: Duration
    /// Why there is no answer; only with status 0.
    private let failure: String

    init(_ response: borrowing HTTPResponse, now: Timestamp) {
        status = response.status
        failure = response.failure
        let isRefusal = !(200..<300).contains(response.status)
        error = isRefusal ? GoogleError(parsing: response.body) : nil
        retryAfter = isRefusal ? response.retryAfter(now: now) : .zero
    }

    var verdict: Verdict {
        guard status != 0 else { return .outcome(Outcome(.retry, reason: failure)) }
        guard !(200..<300).contains(status) else { return outcome(.delivered, "delivered") }
        switch error?.errorCode {
        case .unregistered: return outcome(.gone, "unregistered")
        case .senderIDMismatch: return .senderIDMismatch
        case .invalidArgument: return invalidArgument
        case .quotaExceeded: return quotaExceeded
        case .unavailable?, .internal?: return outcome(.retry, label)
        // Only tokens of the project's apps for iOS and the web get this answer. Anybody can have and register one, so
        // it must not stop the messages to all Android devices.
        case .thirdPartyAuthError?, .apnsAuthError?: return outcome(.rejected, "third-party-auth-error")
        case .unspecified?, nil: return verdictOfStatus
        }
    }

    private var verdictOfStatus: Verdict {
        switch error?.status {
        case "UNAUTHENTICATED": .unauthenticated
        case "PERMISSION_DENIED": outcome(.misconfigured, "permission-denied")
        // Without an FcmError, the project was not found, not the device.
        case "NOT_FOUND": outcome(.misconfigured, "project-not-found")
        case "INVALID_ARGUMENT": invalidArgument
        case "RESOURCE_EXHAUSTED": quotaExceeded
        case "UNAVAILABLE": outcome(.retry, "unavailable")
        case "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED": outcome(.retry, "server-error")
        default: verdictOfHTTP
        }
    }

    private var verdictOfHTTP: Verdict {
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

    private var invalidArgument: Verdict {
        guard let error else { return outcome(.rejected, "invalid-argument") }
        if error.isAboutToken { return outcome(.gone, "invalid-token") }
        return outcome(.rejected, error.isAboutSize ? "payload-too-large" : "invalid-argument")
    }

    private var quotaExceeded: Verdict {
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

    private func outcome(_ kind: Outcome.Kind, _ reason: String) -> Verdict {
        .outcome(Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : .zero, reason: reason))
    }
}
