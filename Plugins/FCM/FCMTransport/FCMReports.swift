import PluginKit
import Units

/// Logs what the operator has to look at, seldom. Reasons are ours, never Google's texts.
struct FCMReports: AuthorizationReports {
    private let log: SeldomLog<String>

    init(_ host: Host) {
        log = SeldomLog(host)
    }

    /// Reports a refused message.
    func report(_ outcome: Outcome, now: Timestamp) {
        let message: String
        var level = LogLevel.error
        switch (outcome.kind, outcome.reason) {
        case (.misconfigured, "unauthenticated"):
            message = "FCM refuses an access token that is new: is its project the service account's?"
        case (.misconfigured, "permission-denied"):
            message =
                "FCM does not let the service account send: give it the role Firebase Cloud Messaging API Admin, and enable "
                + "that API in the project"
        case (.misconfigured, "project-not-found"):
            message = "FCM does not know the project: check project_id"
        case (.retry, FCMErrorCode.senderIDMismatch.label):
            message = "FCM says that a device is of another project: check project_id and the service account"
        case (.rejected, FCMErrorCode.thirdPartyAuthError.label):
            level = .warning
            message =
                "a token of an app on Apple's systems or in browsers was registered as android, and what Firebase holds to "
                + "reach those is refused"
        default: return
        }
        log.log(outcome.reason, level, now: now, message)
    }

    /// Reports that there is no access token.
    func reportNoToken(_ outcome: Outcome, now: Timestamp) {
        switch (outcome.kind, outcome.reason) {
        case (.misconfigured, OAuthError.invalidGrant.label):
            log.log(
                outcome.reason,
                .error,
                now: now,
                "Google refuses the service account (invalid_grant): check this machine's clock, and whether the key was deleted"
            )
        case (.misconfigured, let reason):
            log.log(reason, .error, now: now, "Google gives the service account no access token: \(reason)")
        case (_, let reason):
            log.log(reason, .warning, now: now, "no access token from Google for now: \(reason)")
        }
    }
}
