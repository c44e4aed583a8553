import Cipher

/// The reasons of APNs' refusals ("Handling notification responses from APNs", "Handling error responses from Apple
/// Push Notification service").
enum APNsReason: String, CaseIterable {
    // 400
    case badChannelID, badCollapseID, badDeviceToken, badExpirationDate, badMessageID, badPriority, badRequestParams
    case badRequestPayload, badTopic, cannotCreateChannelConfig, channelNotRegistered, deviceTokenNotForTopic
    case duplicateHeaders, featureNotEnabled, idleTimeout, invalidPushType, missingChannelID, missingDeviceToken
    case missingPushType, missingTopic, payloadEmpty, topicDisallowed
    // 403
    case badCertificate, badCertificateEnvironment, badEnvironmentKeyIDInToken, expiredProviderToken, forbidden
    case invalidProviderToken, missingProviderToken, topicMismatch, unrelatedKeyIDInToken
    // Others
    case badPath, methodNotAllowed, expiredToken, unregistered, payloadTooLarge, tooManyProviderTokenUpdates
    case tooManyRequests, internalServerError, serviceUnavailable, shutdown

    /// Apple's word: the name with a capital, and `Id` for `ID`.
    var word: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst().replacing("ID", with: "Id") }

    var status: Int {
        switch self {
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
        default: 400
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
struct APNsError: Error, Equatable {
    var reason: APNsReason
    /// With 410: when the token died, in milliseconds since 1970.
    var timestamp: Int64?
    /// The exact error, which APNs does not return.
    var detail: String

    init(_ reason: APNsReason, timestamp: Int64? = nil, _ detail: String) {
        self.reason = reason
        self.timestamp = timestamp
        self.detail = detail
    }
}

/// Builds APNs' responses to one request.
struct APNsForm {
    /// The request's ID, or a new one.
    private let id: String
    /// The `apns-request-id`, or a new one; only for broadcasts and channels.
    private let requestID: String?

    init(_ request: LabRequest, _ random: RandomBytes) {
        func given(_ name: String) -> String {
            (try? APNsHeaders.id(request.header(name), header: name)) ?? UUIDText.make(random)
        }
        id = given("apns-id")
        requestID = request.isAboutChannels ? given("apns-request-id") : nil
    }

    /// Success, with a status from 200 to 299.
    func success(_ status: Int = 200) -> LabReply { LabReply(answer: answer(status)) }

    func refusal(_ refusal: APNsError) -> LabReply {
        let body = Self.body(reason: refusal.reason.word, timestamp: refusal.timestamp)
        return LabReply(
            answer: answer(refusal.reason.status, body),
            reason: refusal.reason.word,
            detail: refusal.detail
        )
    }

    /// The response that a misbehaviour orders. `now` is in milliseconds since 1970.
    func ordered(_ ordered: OrderedAnswer, now: Int64) -> LabReply {
        let status = ordered.status
        let reason = ordered.reason ?? (APNsReason.usual(for: status) ?? .internalServerError).word
        let body = Self.body(reason: reason, timestamp: status == 410 ? ordered.timestamp ?? now : nil)
        return LabReply(answer: answer(status, body), reason: reason)
    }

    /// The JSON of an error, which is also the debug data of GOAWAY. `timestamp` is in milliseconds since 1970.
    static func body(reason: String, timestamp: Int64? = nil) -> [UInt8] {
        var members: [String: JSONValue] = ["reason": .string(reason)]
        members["timestamp"] = timestamp.map(JSONValue.integer)
        return Array(JSONValue.object(members).compact.utf8)
    }

    private func answer(_ status: Int, _ body: [UInt8] = []) -> HTTPAnswer {
        let headers = [LabHeader("apns-id", id)] + (requestID.map { [LabHeader("apns-request-id", $0)] } ?? [])
        return HTTPAnswer(status: status, headers: headers, body: body)
    }
}
