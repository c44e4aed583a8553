import PluginKit

/// What ntfy answered, and what follows from it: the status, and the code in `{"code":42908,…}` where that says more.
///
/// Never gone: a topic has no end. Never ``Outcome/Kind/misconfigured``: topics and tokens are the users' own.
struct NtfyAnswer {
    /// `42908`: the messages of this day are used up; ntfy counts them by UTC days.
    private static let dailyLimit: Int64 = 42_908
    private static let millisecondsPerDay: Int64 = 86_400_000
    /// ntfy gives a visitor one more request every five seconds.
    private static let refill: UInt32 = 5000

    let status: UInt32
    let code: Int64?
    /// What `Retry-After` asks for, in milliseconds.
    let retryAfter: UInt32
    /// Why there is no answer, when `status` is 0.
    let failure: String
    let now: Int64

    init(_ response: borrowing HTTPResponse, now: Int64) {
        status = response.status
        failure = response.failure
        retryAfter = response.retryAfter(now: now)
        self.now = now
        let isRefused = !(200...299).contains(response.status)
        code = isRefused ? (try? JSONObject(parsing: response.body.bytes))?["code"]?.integer : nil
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
        case 429: tooManyRequests
        case 400...499: outcome(.rejected, "other")
        case 507: outcome(.retry, "insufficient-storage")
        default: outcome(.retry, status >= 500 ? "server-error" : "other")
        }
    }

    private var unanswered: Outcome {
        switch failure {
        case "forbidden-address", "invalid-url": Outcome(.rejected, reason: failure)
        default: Outcome(.retry, reason: failure)
        }
    }

    private var tooManyRequests: Outcome {
        var wait = max(retryAfter, NtfyAnswer.refill)
        if code == NtfyAnswer.dailyLimit {
            wait = max(wait, UInt32(NtfyAnswer.millisecondsPerDay - now % NtfyAnswer.millisecondsPerDay))
        }
        return Outcome(.retry, status: status, retryAfter: wait, reason: "too-many-requests")
    }

    private func outcome(_ kind: Outcome.Kind, _ reason: String) -> Outcome {
        Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : 0, reason: reason)
    }
}
