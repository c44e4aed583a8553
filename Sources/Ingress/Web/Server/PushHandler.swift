import HTTPListening
import HTTPTypes
import HummingbirdCore
import Listening
import NIOCore

/// Answers requests.
struct PushHandler: Sendable {
    let configuration: WebIngressConfiguration
    let payload: PushPayload
    let limits: PushLimits
    let queue: PushQueue
    let counts: DoorCounts
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64

    func answer(_ request: Request, on channel: any Channel) async throws -> PushAnswer {
        let client = ClientAddress(
            peer: channel.remoteAddress?.ipAddress ?? "",
            forwardedFor: request.headers[values: .forwardedFor],
            isTrustedProxy: configuration.isTrustedProxy
        )
        let body = try await body(of: request, from: client, on: channel)
        let now = now()
        // Whatever is asked for: an answer of no use costs as much as one of use.
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
        now: Int64
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

    /// Nil when it is longer than what can be passed on.
    private func body(
        of request: Request,
        from client: ClientAddress?,
        on channel: any Channel
    ) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        var count = 0
        let limits = configuration.limits
        try await request.readBody(atMost: limits.bodyBytes, within: limits.bodySeconds, on: channel) {
            part throws(RequestMistake) in
            guard self.limits.admits(part.readableBytes, from: client, now: now()) else { throw .tooFast }
            count += part.readableBytes
            if count <= PushPayload.longestBody { bytes += part.readableBytesView }
        }
        return count <= PushPayload.longestBody ? bytes : nil
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
