import PluginKit

/// What FCM answered, and what follows from it: its own error code decides where there is one, then Google's canonical
/// status, then that of HTTP.
struct FCMAnswer {
    enum Verdict: Hashable {
        case outcome(Outcome)
        /// The access token is refused: another one may do.
        case unauthenticated
        /// The token belongs to another project: what follows depends on whether ours has any.
        case senderIDMismatch
    }

    /// What a project that sends too much has to wait at least, in milliseconds.
    static let shortestQuotaPause: UInt32 = 60_000

    let status: UInt32
    let error: GoogleError?
    /// What `Retry-After` asks for, in milliseconds.
    let retryAfter: UInt32
    /// Why there is no answer, when `status` is 0.
    let failure: String

    init(_ response: borrowing HTTPResponse, now: Int64) {
        status = response.status
        failure = response.failure
        let isRefusal = response.status >= 300
        error = isRefusal ? GoogleError(parsing: response.body) : nil
        retryAfter = isRefusal ? response.retryAfter(now: now) : 0
    }

    var verdict: Verdict {
        guard status != 0 else { return .outcome(Outcome(.retry, reason: failure)) }
        guard status >= 300 else { return outcome(.delivered, "delivered") }
        switch error?.errorCode {
        case .unregistered: return outcome(.gone, "unregistered")
        case .senderIDMismatch: return .senderIDMismatch
        case .invalidArgument: return invalidArgument
        case .quotaExceeded: return quotaExceeded
        case .unavailable?, .internal?: return outcome(.retry, label)
        // Only a token of the project's apps for iOS or the web is answered so, which anybody can have and register: it must not
        // stop the messages to all Android devices.
        case .thirdPartyAuthError?, .apnsAuthError?: return outcome(.rejected, "third-party-auth-error")
        case .unspecified?, nil: return verdictOfStatus
        }
    }

    private var verdictOfStatus: Verdict {
        switch error?.status {
        case "UNAUTHENTICATED": .unauthenticated
        case "PERMISSION_DENIED": outcome(.misconfigured, "permission-denied")
        // No FcmError, so it is not the device that was not found, but the project.
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
        .outcome(Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : 0, reason: reason))
    }
}
