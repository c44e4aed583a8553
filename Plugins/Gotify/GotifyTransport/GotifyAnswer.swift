import PluginKit

/// What a Gotify server answered, and what follows from it.
///
/// Never ``Outcome/Kind/misconfigured``: servers and tokens are the users' own. A token that is refused costs the message and
/// not the device, for its owner may have it back in a minute.
struct GotifyAnswer {
    let status: UInt32
    /// What `Retry-After` asks for, in milliseconds.
    let retryAfter: UInt32
    /// Why there is no answer, when `status` is 0.
    let failure: String

    init(_ response: borrowing HTTPResponse, now: Int64) {
        status = response.status
        failure = response.failure
        retryAfter = response.retryAfter(now: now)
    }

    var outcome: Outcome {
        switch status {
        case 0: unanswered
        case 200...299: outcome(.delivered, "delivered")
        case 300...399: outcome(.rejected, "redirect")
        case 401: outcome(.rejected, "unauthorized")
        case 403: outcome(.rejected, "forbidden")
        case 404: outcome(.rejected, "not-found")
        case 413: outcome(.rejected, "payload-too-large")
        case 429: outcome(.retry, "too-many-requests")
        case 400...499: outcome(.rejected, "other")
        default: outcome(.retry, status >= 500 ? "server-error" : "other")
        }
    }

    private var unanswered: Outcome {
        switch failure {
        case "forbidden-address", "invalid-url": Outcome(.rejected, reason: failure)
        default: Outcome(.retry, reason: failure)
        }
    }

    private func outcome(_ kind: Outcome.Kind, _ reason: String) -> Outcome {
        Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : 0, reason: reason)
    }
}
