import CarillonLab

/// A failure of a request.
package enum Mischief: String, CaseIterable, Sendable, Codable {
    case refusedStream = "REFUSED_STREAM"
    case internalError = "INTERNAL_ERROR"
    case cancel = "CANCEL"
    case gracefulGoAway = "GOAWAY after the answer"
    case abruptGoAway = "GOAWAY and gone"
    case tooMany = "429"
    case tooManyRetryAfter = "429, Retry-After"
    case unavailable = "503"
    case unavailableRetryAfter = "503, Retry-After"
    case serverError = "500"
    case html = "HTML with 502"
    case silence = "silence"
    case drop = "TCP dropped"
    case cut = "TCP dropped in the answer"
    case slow = "slow answer"
    case tooLate = "answer after the deadline"
    case oneStream = "only 1 stream"
    case manyStreams = "many streams again"
    case expiredToken = "token expired"
    case gone = "device gone"

    /// Returns the lab's action. `draw` refines it.
    func behavior(of transport: ChaosTransport, requestTimeout: UInt32, draw: UInt64) -> ScriptedBehavior.Action {
        switch self {
        case .refusedStream: .refuseStream
        case .internalError: .reset(code: 0x2)
        case .cancel: .reset(code: 0x8)
        case .gracefulGoAway: .goAway(gracefully: true)
        case .abruptGoAway: .goAway(gracefully: false)
        case .tooMany: .tooManyRequests()
        case .tooManyRetryAfter: .tooManyRequests(retryAfter: 1 + Int(draw % 5))
        case .unavailable: .answer(status: 503)
        case .unavailableRetryAfter: .answer(status: 503, retryAfter: 1 + Int(draw % 5))
        case .serverError: .answer(status: 500)
        case .html: .html(status: 502)
        case .silence: .silence
        case .drop: .close
        case .cut: .cut
        case .slow: .delay(milliseconds: 20 + Int(draw % UInt64(max(1, requestTimeout / 4))))
        case .tooLate: .delay(milliseconds: Int(requestTimeout) + 100 + Int(draw % 400))
        case .oneStream: .limitStreams(1)
        case .manyStreams: .limitStreams(100)
        case .expiredToken: transport == .apns ? .expiredProviderToken : .answer(status: 401)
        case .gone: Self.gone(of: transport)
        }
    }

    /// Whether it can happen to a transport: not all can with one connection per request and the device's own tokens.
    func concerns(_ transport: ChaosTransport) -> Bool {
        switch self {
        case .refusedStream, .internalError, .cancel, .abruptGoAway, .oneStream, .manyStreams, .expiredToken:
            transport.speaksHTTP2
        default: true
        }
    }

    private static func gone(of transport: ChaosTransport) -> ScriptedBehavior.Action {
        switch transport {
        case .apns, .webPush: .gone
        case .fcm: .answer(status: 404, reason: "UNREGISTERED")
        case .unifiedPush: .answer(status: 404)
        }
    }
}
