import HTTPListening
import HTTPTypes
import HummingbirdCore
import Listening
import NIOCore
import Units

/// Answers the requests of push senders.
struct PushHandler: Sendable {
    let configuration: WebIngressConfiguration
    let payload: PushPayload
    let limits: SenderLimits
    let queue: PushQueue
    let counts: LimitCounts
    let now: @Sendable () -> Timestamp

    func answer(_ request: Request, on channel: any Channel) async throws -> PushAnswer {
        let address = ClientAddress.text(
            peer: channel.remoteAddress?.ipAddress ?? "",
            forwardedFor: request.headers[values: .forwardedFor],
            isTrustedProxy: configuration.isTrustedProxy
        )
        let client = address.flatMap { ClientAddress($0) }
        let body = try await body(of: request, from: client, on: channel)
        let now = now()
        if let address, configuration.isBlocked(address) {
            counts.refused(by: .blocked)
            // Others would make senders forget their subscriptions for good, and the block may end.
            return .blocked
        }
        // For all requests: a useless answer costs as much as a useful one.
        if let refusal = try limits.refusal(ofRequestFrom: client, now: now) { return refusal }
        switch IngressRoute(method: request.method.rawValue, target: request.head.path ?? "") {
        case .status: return .fine
        case .wrongMethod(let allow): return .wrongMethod(allow: allow)
        case .unknown: return .unknown
        case .push(let resource):
            if let refusal = limits.refusal(ofMessageFor: resource, now: now) { return refusal }
            return await keep(PushRequest(request.headers, body: body), for: resource, from: client, now: now)
        }
    }

    private func keep(
        _ request: PushRequest,
        for resource: PushResource,
        from client: ClientAddress?,
        now: Timestamp
    ) async -> PushAnswer {
        let notification = payload.notification(
            for: resource.id,
            EncryptedMessage(request),
            MessageTerms(request, now: now)
        )
        let push = IngressPush(
            deviceToken: resource.deviceToken,
            isSandbox: resource.isSandbox,
            notification: notification,
            client: client
        )
        let answer = await queue.keep(push)
        switch answer {
        case .busy: counts.refused(by: .work)
        case .mistrusted: counts.refused(by: .requests)
        case .queued, .gone, .unknownDevice: break
        }
        return PushAnswer(answer)
    }

    /// Nil when the body is too long to be passed on.
    private func body(
        of request: Request,
        from client: ClientAddress?,
        on channel: any Channel
    ) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        var count = 0
        let limits = configuration.limits
        try await request.readBody(atMost: limits.bodyBytes, within: limits.bodyTimeout, on: channel) {
            part throws(RequestError) in
            guard self.limits.admits(part.readableBytes, from: client, now: now()) else { throw .tooFast }
            count += part.readableBytes
            if count <= payload.longestBody { bytes += part.readableBytesView }
        }
        return count <= payload.longestBody ? bytes : nil
    }
}

extension PushRequest {
    init(_ fields: HTTPFields, body: [UInt8]?) {
        self.init(
            contentEncoding: fields[values: .contentEncoding],
            encryption: fields[values: .encryption],
            cryptoKey: fields[values: .cryptoKey],
            ttl: fields[values: .ttl],
            urgency: fields[values: .urgency],
            body: body
        )
    }
}

extension HTTPField.Name {
    static let encryption = name("Encryption")
    static let cryptoKey = name("Crypto-Key")
    static let ttl = name("TTL")
    static let urgency = name("Urgency")
    static let forwardedFor = name("X-Forwarded-For")

    /// These are tokens (RFC 9110 section 5.1), which is all that is asked.
    private static func name(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is no field name") }
        return name
    }
}

/// The answer to a sender. A 4xx other than 408 and 429 makes Mastodon (`Web::PushNotificationWorker`) forget the
/// subscription for good, so it is sent only where this URL can never work (404, 405) or its device is dead (410). Any
/// other mistake costs a message its text at most.
enum PushAnswer: Equatable {
    /// How long to stay away after ``busy``.
    static let pause: Duration = .seconds(30)
    /// How long to stay away for a client that lost its allowance.
    private static let longPause: Duration = .minutes(10)

    /// Nothing is taken from a blocked address.
    static let blocked = PushAnswer.tooMany(retryAfter: longPause)

    case fine
    case queued
    case gone
    case unknown
    case wrongMethod(allow: String)
    case tooMany(retryAfter: Duration)
    case busy

    init(_ answer: IngressAnswer) {
        self =
            switch answer {
            case .queued: .queued
            case .busy: .busy
            case .mistrusted: .tooMany(retryAfter: Self.longPause)
            case .gone: .gone
            case .unknownDevice: .unknown
            }
    }
}

extension HTTPAnswer {
    /// Without a body: senders only look at the status.
    init(_ answer: PushAnswer) {
        switch answer {
        case .fine: self.init(status: .ok)
        case .queued: self.init(status: .accepted)
        case .gone: self.init(status: .gone)
        case .unknown: self.init(status: .notFound)
        case .wrongMethod(let allow): self.init(status: .methodNotAllowed, fields: [.allow: allow])
        case .tooMany(let pause): self.init(status: .tooManyRequests, fields: [.retryAfter: String(pause.seconds)])
        case .busy: self.init(status: .serviceUnavailable, fields: [.retryAfter: String(PushAnswer.pause.seconds)])
        }
    }
}
