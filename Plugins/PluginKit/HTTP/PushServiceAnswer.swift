/// What a push service of the users' own choice answered, and what follows from it (RFC 8030 section 5; UnifiedPush
/// SERV_1.2.0).
///
/// Never ``Outcome/Kind/misconfigured``: users choose the push services, so that one that answers 401 or 403 must not stop
/// the messages to all others. It loses this message and keeps its device.
public struct PushServiceAnswer {
    public let status: UInt32
    /// What `Retry-After` asks for, in milliseconds.
    private let retryAfter: UInt32
    /// Why there is no answer, when `status` is 0.
    private let failure: String

    /// `now` is in milliseconds since 1970.
    public init(_ response: borrowing HTTPResponse, now: Int64) {
        status = response.status
        failure = response.failure
        retryAfter = response.retryAfter(now: now)
    }

    /// What the status alone says.
    public var outcome: Outcome {
        switch status {
        case 0: unanswered
        case 200...299: outcome(.delivered, "delivered")
        case 300...399: outcome(.rejected, "redirect")
        case 401: outcome(.rejected, "unauthorized")
        case 403: outcome(.rejected, "forbidden")
        case 404: outcome(.gone, "not-found")
        case 410: outcome(.gone, "gone")
        case 413: outcome(.rejected, "payload-too-large")
        case 429: outcome(.retry, "too-many-requests")
        case 400...499: outcome(.rejected, "other")
        // What ntfy says while no phone listens to the topic.
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

    /// The outcome of a kind, with the status and, for another attempt, the wait.
    public func outcome(_ kind: Outcome.Kind, _ reason: String) -> Outcome {
        Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : 0, reason: reason)
    }
}
