/// The reasons of APNs' refusals, in Apple's words ("Handling notification responses from APNs", "Handling error
/// responses from Apple Push Notification service").
enum APNsReason: String, CaseIterable {
    case badChannelID = "BadChannelId"
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badRequestParams = "BadRequestParams"
    case badRequestPayload = "BadRequestPayload"
    case badTopic = "BadTopic"
    case cannotCreateChannelConfig = "CannotCreateChannelConfig"
    case channelNotRegistered = "ChannelNotRegistered"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case featureNotEnabled = "FeatureNotEnabled"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingChannelID = "MissingChannelId"
    case missingDeviceToken = "MissingDeviceToken"
    case missingPushType = "MissingPushType"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case topicMismatch = "TopicMismatch"
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

    var status: Int {
        switch self {
        case .badChannelID, .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority,
            .badRequestParams, .badRequestPayload, .badTopic, .cannotCreateChannelConfig, .channelNotRegistered,
            .deviceTokenNotForTopic, .duplicateHeaders, .featureNotEnabled, .idleTimeout, .invalidPushType,
            .missingChannelID, .missingDeviceToken, .missingPushType, .missingTopic, .payloadEmpty, .topicDisallowed:
            400
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken, .expiredProviderToken,
            .forbidden, .invalidProviderToken, .missingProviderToken, .topicMismatch, .unrelatedKeyIDInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        }
    }

    /// The usual reason of a status.
    static func usual(for status: Int) -> APNsReason? {
        switch status {
        case 400: .badDeviceToken
        case 403: .invalidProviderToken
        case 410: .unregistered
        case 429: .tooManyRequests
        default: allCases.first { $0.status == status }
        }
    }
}

/// Why a request is refused.
struct APNsRefusal: Error, Equatable {
    var reason: APNsReason
    /// With 410: when the token died, in milliseconds since 1970.
    var timestamp: Int64?
    /// The exact error. APNs does not say it.
    var detail: String

    init(_ reason: APNsReason, timestamp: Int64? = nil, _ detail: String) {
        self.reason = reason
        self.timestamp = timestamp
        self.detail = detail
    }
}
