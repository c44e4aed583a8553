import Core
import PluginKit

/// A response of APNs and its outcome. The status decides, and the reason, if any, refines it: bodies of proxies and
/// overloaded servers may not be JSON.
struct APNsAnswer {
    enum Decision: Hashable {
        case outcome(Outcome)
        /// The provider token expired. The outcome depends on its age.
        case expiredProviderToken
    }

    let status: UInt32
    let reason: APNsReason?
    /// When Apple last found the device token dead; only with status 410.
    private let timestamp: Timestamp?
    /// The delay that `Retry-After` asks for.
    private let retryAfter: Duration
    /// The reason why there is no response; only with status 0.
    private let failure: String

    init(_ response: borrowing HTTPResponse, now: @autoclosure () -> Timestamp) {
        status = response.status
        guard !(200...299).contains(response.status) else {
            failure = ""
            reason = nil
            timestamp = nil
            retryAfter = .zero
            return
        }
        failure = response.failure
        let body = try? JSONObject(parsing: response.body.bytes)
        reason = (body?["reason"]?.string).flatMap(APNsReason.init(rawValue:))
        timestamp = (body?["timestamp"]?.integer).map(Timestamp.init(milliseconds:))
        retryAfter = response.retryAfter(now: now())
    }

    /// The environment does not know the token.
    var isBadDeviceToken: Bool { status == 400 && reason == .badDeviceToken }

    /// Whether the response rules out pushes to this token, but not to others.
    var isAboutToken: Bool { status == 410 || isBadDeviceToken || status == 400 && reason == .deviceTokenNotForTopic }

    /// Whether there is no such broadcast channel.
    var isAboutChannel: Bool { status == 400 && (reason == .badChannelID || reason == .channelNotRegistered) }

    /// Whether Apple found the token dead before the device registered it again.
    func isStale(registeredAt: Timestamp) -> Bool {
        guard status == 410, let timestamp, timestamp >= .epoch else { return false }
        return timestamp < registeredAt
    }

    /// Returns the decision for a recipient.
    ///
    /// Only the device's own token can make a device gone, and only an error that affects every device of the app is a
    /// misconfiguration. One rule's Live Activities, or a phone with a development build that uses Apple's other
    /// servers, must not stop the pushes to all other devices. Until a push has succeeded, the topic or the server may
    /// be wrong instead of the device. No device may be lost because of that.
    func decision(for recipient: Recipient) -> Decision {
        let decision = decision(registeredAt: recipient.registeredAt)
        guard case .outcome(var outcome) = decision else { return decision }
        switch outcome.kind {
        case .gone:
            if recipient.pushType.hasOwnToken {
                outcome.reason = recipient.pushType.reasonOfDeadToken
            } else if !mayBeMisconfiguration(for: recipient) {
                return decision
            }
        case .misconfigured:
            let isOfType = recipient.pushType.hasOwnToken && reason?.isAboutCredentials != true
            guard !recipient.isAtMainOrigin || isOfType else { return decision }
        default: return decision
        }
        outcome.kind = .rejected
        return .outcome(outcome)
    }

    /// Whether Apple responds this for every device if the operator's topic or environment is wrong. A device whose
    /// registration names other servers does not count.
    func mayBeMisconfiguration(for recipient: Recipient) -> Bool {
        guard status == 400, !recipient.pushType.hasOwnToken, !recipient.isPlaceProven else { return false }
        return reason == .deviceTokenNotForTopic || reason == .badDeviceToken && recipient.isAtMainOrigin
    }

    /// Returns the decision for a broadcast. A broadcast belongs to a single registration, so only bad credentials stop
    /// the pushes to all devices. A channel that Apple does not know is gone if Apple ever accepted a broadcast in this
    /// environment; otherwise it may belong to the other environment.
    func decision(forBroadcastAtMainOrigin isAtMainOrigin: Bool, isPlaceProven: Bool) -> Decision {
        if isAboutChannel { return outcome(isPlaceProven ? .gone : .rejected, or: "other") }
        switch (status, reason) {
        case (400, .idleTimeout): return outcome(.retry, or: "other")
        case (400, _), (410, _): return outcome(.rejected, or: "other")
        case (403, .expiredProviderToken): return .expiredProviderToken
        case (403, let reason):
            let isOfAll = isAtMainOrigin && (reason?.isAboutCredentials ?? false)
            return outcome(isOfAll ? .misconfigured : .rejected, or: "other")
        default: return decision(registeredAt: .epoch)
        }
    }

    private func decision(registeredAt: Timestamp) -> Decision {
        switch status {
        case 0: .outcome(Outcome(.retry, reason: failure))
        case 200...299: outcome(.delivered, or: "delivered")
        case 400: badRequest
        case 403: reason == .expiredProviderToken ? .expiredProviderToken : outcome(.misconfigured, or: "other")
        case 410: dead(registeredAt: registeredAt)
        case 413: outcome(.rejected, or: "payload-too-large")
        // The first is about one device with too many pushes, the second about all pushes with a provider token.
        case 429:
            outcome(.retry, or: "too-many-requests", reason == .tooManyProviderTokenUpdates ? .transport : .device)
        case 401...499: outcome(.rejected, or: "other")
        default: outcome(.retry, or: status >= 500 ? "server-error" : "other")
        }
    }

    private var badRequest: Decision {
        switch reason {
        case .badDeviceToken, .deviceTokenNotForTopic: outcome(.gone, or: "other")
        // The key may not push to this topic, or the topic does not exist: no message can succeed.
        case .badTopic, .missingTopic, .topicDisallowed: outcome(.misconfigured, or: "other")
        case .idleTimeout: outcome(.retry, or: "other")
        default: outcome(.rejected, or: "other")
        }
    }

    /// Returns the decision for a dead token. If the device has registered it again since then, only the message is
    /// lost.
    private func dead(registeredAt: Timestamp) -> Decision {
        guard !isStale(registeredAt: registeredAt) else {
            return .outcome(Outcome(.rejected, status: status, reason: "stale-gone"))
        }
        return outcome(.gone, or: "unregistered")
    }

    private func outcome(_ kind: Outcome.Kind, or word: String, _ scope: Outcome.Scope = .usual) -> Decision {
        .outcome(
            Outcome(
                kind,
                status: status,
                retryAfter: kind == .retry ? retryAfter : .zero,
                reason: reason?.label ?? word,
                scope: scope
            )
        )
    }
}

/// The properties of a push's recipient that affect the decision.
struct Recipient: Sendable {
    /// The type of the push, which determines the token.
    var pushType: PushType
    /// Whether the push went to the app's main environment.
    var isAtMainOrigin: Bool
    /// Whether Apple ever accepted a push for the app's own topic there, which proves both topic and server.
    var isPlaceProven: Bool
    /// When the device last registered, or the epoch.
    var registeredAt: Timestamp
}

/// The reason in the body of an error response ("Handling notification responses from APNs"; for broadcasts and
/// channels "Handling error responses from Apple Push Notification service").
enum APNsReason: String, CaseIterable {
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    case badEnvironmentKeyInToken = "BadEnvironmentKeyInToken"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"
    case badChannelID = "BadChannelId"
    case badRequestParameters = "BadRequestParams"
    case badRequestPayload = "BadRequestPayload"
    case cannotCreateChannelConfiguration = "CannotCreateChannelConfig"
    case channelNotRegistered = "ChannelNotRegistered"
    case featureNotEnabled = "FeatureNotEnabled"
    case missingChannelID = "MissingChannelId"
    case missingPushType = "MissingPushType"
    case topicMismatch = "TopicMismatch"

    /// Whether these credentials cannot send anything.
    var isAboutCredentials: Bool {
        switch self {
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken,
            .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken:
            true
        default: false
        }
    }

    /// Apple's reason in the format of an outcome's reason: `bad-device-token`.
    var label: String {
        var label = ""
        for character in rawValue {
            if character.isUppercase, !label.isEmpty {
                label += "-"
            }
            label += character.lowercased()
        }
        return label
    }
}
