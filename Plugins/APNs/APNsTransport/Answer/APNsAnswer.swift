import PluginKit

/// What APNs answered, and what follows from it. The status decides; the reason refines, where there is one: bodies of
/// proxies and overloaded servers need not be JSON.
struct APNsAnswer {
    enum Verdict: Hashable {
        case outcome(Outcome)
        /// The provider token is too old: what follows depends on how old.
        case expiredProviderToken
    }

    let status: UInt32
    let reason: APNsReason?
    /// When Apple last found the device token dead, in milliseconds since 1970; only with 410.
    let timestamp: Int64?
    /// What `Retry-After` asks for, in milliseconds.
    let retryAfter: UInt32
    /// Why there is no answer, when `status` is 0.
    let failure: String

    init(_ response: borrowing HTTPResponse, now: Int64) {
        status = response.status
        failure = response.failure
        guard !(200...299).contains(response.status) else {
            reason = nil
            timestamp = nil
            retryAfter = 0
            return
        }
        let body = try? JSONObject(parsing: response.body.bytes)
        reason = (body?["reason"]?.string).flatMap(APNsReason.init(rawValue:))
        timestamp = body?["timestamp"]?.integer
        retryAfter = response.retryAfter(now: now)
    }

    /// What follows for that recipient.
    ///
    /// Only the token of the device itself can be the end of a device, and only what every device of the app depends on
    /// can be a misconfiguration: one rule's Live Activities, or a phone with a development build that names Apple's other
    /// servers, must not stop the pushes to all others. Where no push ever passed, the topic or the server may be the wrong one
    /// rather than the device: that must not cost all devices.
    func verdict(for recipient: Recipient) -> Verdict {
        let verdict = verdict(registeredAt: recipient.registeredAt)
        guard case .outcome(var outcome) = verdict else { return verdict }
        switch outcome.kind {
        case .gone:
            if let reason = recipient.pushType.reasonOfDeadToken {
                outcome.reason = reason
            } else if !mayBeOurMistake(for: recipient) {
                return verdict
            }
        case .misconfigured:
            guard !recipient.isAtMainOrigin || recipient.pushType.topicSuffix != "" && status == 400 else {
                return verdict
            }
        default: return verdict
        }
        outcome.kind = .rejected
        return .outcome(outcome)
    }

    /// Whether that is what Apple says of every device when the operator's topic or environment is wrong. Which servers a device
    /// names in its registration is its own affair.
    func mayBeOurMistake(for recipient: Recipient) -> Bool {
        guard status == 400, recipient.pushType.topicSuffix.isEmpty, !recipient.isPlaceProven else { return false }
        return reason == .deviceTokenNotForTopic || reason == .badDeviceToken && recipient.isAtMainOrigin
    }

    private func verdict(registeredAt: UInt64) -> Verdict {
        switch status {
        case 0: .outcome(Outcome(.retry, reason: failure))
        case 200...299: outcome(.delivered, or: "delivered")
        case 400: badRequest
        case 403: reason == .expiredProviderToken ? .expiredProviderToken : outcome(.misconfigured, or: "other")
        case 410: dead(registeredAt: registeredAt)
        case 413: outcome(.rejected, or: "payload-too-large")
        case 429: outcome(.retry, or: "too-many-requests")
        case 401...499: outcome(.rejected, or: "other")
        default: outcome(.retry, or: status >= 500 ? "server-error" : "other")
        }
    }

    private var badRequest: Verdict {
        switch reason {
        case .badDeviceToken, .deviceTokenNotForTopic: outcome(.gone, or: "other")
        // The key may not push to this topic, or there is no such topic: no message will ever pass.
        case .badTopic, .missingTopic, .topicDisallowed: outcome(.misconfigured, or: "other")
        case .idleTimeout: outcome(.retry, or: "other")
        default: outcome(.rejected, or: "other")
        }
    }

    /// A token that Apple found dead before the device was registered with it again says nothing about it: the message
    /// is lost, the device is not.
    private func dead(registeredAt: UInt64) -> Verdict {
        if let timestamp, timestamp >= 0, UInt64(timestamp) < registeredAt {
            return .outcome(Outcome(.rejected, status: status, reason: "stale-gone"))
        }
        return outcome(.gone, or: "unregistered")
    }

    private func outcome(_ kind: Outcome.Kind, or word: String) -> Verdict {
        .outcome(
            Outcome(kind, status: status, retryAfter: kind == .retry ? retryAfter : 0, reason: reason?.label ?? word)
        )
    }
}

extension PushType {
    /// What is told of a token of this kind that is dead; nil for the device's own, whose end is the device's.
    fileprivate var reasonOfDeadToken: String? {
        switch self {
        case .alert, .background: nil
        case .liveActivity: "live-activity-ended"
        case .voip: "voip-token-dead"
        }
    }
}
