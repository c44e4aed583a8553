import Core
import HTTPTypes
import HummingbirdCore
import Listeners
import NIOCore
import Synchronization

/// Answers the requests of push senders.
struct PushHandler: Sendable {
    let configuration: WebIngressConfiguration
    let payload: PushPayload
    let limits: SenderLimits
    let queue: PushQueue
    let counts: LimitCounts
    let now: @Sendable () -> Timestamp

    func answer(_ request: Request, on channel: any Channel) async throws -> HTTPAnswer {
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
            // Other errors would make senders drop their subscriptions permanently, but the block may end.
            return .tooMany(retryAfter: HTTPAnswer.longPause)
        }
        // Applies to all requests, because an error response costs as much as a success.
        if let pause = try limits.pause(ofRequestFrom: client, now: now) { return .tooMany(retryAfter: pause) }
        switch IngressRoute(method: request.method.rawValue, target: request.head.path ?? "") {
        case .status: return HTTPAnswer(status: .ok)
        case .wrongMethod(let allow): return HTTPAnswer(status: .methodNotAllowed, fields: [.allow: allow])
        case .unknown: return HTTPAnswer(status: .notFound)
        case .push(let resource):
            if let pause = limits.pause(ofMessageFor: resource, now: now) { return .tooMany(retryAfter: pause) }
            return await keep(PushRequest(request.headers, body: body), for: resource, from: client, now: now)
        }
    }

    private func keep(
        _ request: PushRequest,
        for resource: PushResource,
        from client: ClientAddress?,
        now: Timestamp
    ) async -> HTTPAnswer {
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
        return HTTPAnswer(answer)
    }

    /// Returns nil if the body is too long to pass on.
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

    /// These are tokens (RFC 9110 section 5.1), which the initializer requires.
    private static func name(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a field name") }
        return name
    }
}

/// Responses to senders, without a body: senders read only the status. A 4xx other than 408 and 429 makes Mastodon
/// (`Web::PushNotificationWorker`) delete the subscription permanently. So it is sent only if this URL can never work
/// (404, 405) or its device is dead (410). Any other error costs at most one message's text.
extension HTTPAnswer {
    /// Retry-After when too much is queued.
    private static let pause: Duration = .seconds(30)
    /// Retry-After for a client that exhausted its allowance.
    fileprivate static let longPause: Duration = .minutes(10)

    fileprivate static func tooMany(retryAfter pause: Duration) -> HTTPAnswer {
        HTTPAnswer(status: .tooManyRequests, fields: [.retryAfter: String(pause.seconds)])
    }

    init(_ answer: IngressAnswer) {
        switch answer {
        case .queued: self.init(status: .accepted)
        case .busy: self.init(status: .serviceUnavailable, fields: [.retryAfter: String(Self.pause.seconds)])
        case .mistrusted: self = .tooMany(retryAfter: Self.longPause)
        case .gone: self.init(status: .gone)
        case .unknownDevice: self.init(status: .notFound)
        }
    }
}

/// Limits requests and bytes by sender, and messages by device.
final class SenderLimits: Sendable {
    /// Entries of a table, about 100 bytes each.
    private static let capacity = 100_000

    private struct Tables {
        var clients: ClientRates
        /// Limits the refusals that are sent as responses; above the limit, the client's connections are closed.
        var rates: ClientRates
        var bytes: ClientRates
        /// By the hash of the device token, so that memory holds no tokens.
        var devices: RateTable<Int>
    }

    private let tables: Mutex<Tables>
    private let counts: LimitCounts

    /// `counts` counts all refusals.
    init(_ limits: WebIngressConfiguration.Limits, counts: LimitCounts) {
        self.counts = counts
        tables = Mutex(
            Tables(
                clients: ClientRates(
                    burst: limits.clientBurst,
                    perSecond: Double(limits.perClientPerSecond),
                    capacity: Self.capacity
                ),
                rates: ClientRates(
                    burst: limits.clientBurst * 4,
                    perSecond: Double(limits.perClientPerSecond),
                    capacity: Self.capacity
                ),
                bytes: ClientRates(
                    burst: limits.bytesPerClientPerSecond * 8,
                    perSecond: Double(limits.bytesPerClientPerSecond),
                    capacity: Self.capacity
                ),
                devices: RateTable(
                    burst: limits.deviceBurst,
                    perSecond: Double(limits.perDevicePerMinute) / 60,
                    capacity: Self.capacity
                )
            )
        )
    }

    /// Whether `bytes` more of a body may come at `now`.
    func admits(_ bytes: Int, from client: ClientAddress?, now: Timestamp) -> Bool {
        guard let client, !client.isLoopback else { return true }
        let isAdmitted = tables.withLock { $0.bytes.take(client, bytes, now: now) }
        if !isAdmitted { counts.refused(by: .bytes) }
        return isAdmitted
    }

    /// How long a client above its rate limit must wait; nil if the request may pass. Throws if the client got that
    /// response too often.
    func pause(ofRequestFrom client: ClientAddress?, now: Timestamp) throws(RequestError) -> Duration? {
        // An address of this machine may be a proxy for all clients.
        guard let client, !client.isLoopback else { return nil }
        let (isAdmitted, isTold, pause) = tables.withLock { tables in
            let isAdmitted = tables.clients.take(client, now: now)
            return (isAdmitted, isAdmitted || tables.rates.take(client, now: now), tables.clients.pause)
        }
        guard !isAdmitted else { return nil }
        counts.refused(by: .requests)
        guard isTold else { throw .tooFast }
        return pause
    }

    /// How long the sender of a message must wait, if its device gets too many; nil if it may pass.
    func pause(ofMessageFor resource: PushResource, now: Timestamp) -> Duration? {
        var hasher = Hasher()
        hasher.combine(resource.deviceToken)
        hasher.combine(resource.isSandbox)
        let device = hasher.finalize()
        let (isAdmitted, pause) = tables.withLock { tables in
            (tables.devices.take(device, now: now), tables.devices.pause)
        }
        guard !isAdmitted else { return nil }
        counts.refused(by: .device)
        return pause
    }
}
