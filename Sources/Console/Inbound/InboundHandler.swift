import HTTPListening
import HTTPTypes
import HummingbirdCore
import Listening
import NIOCore
import RateLimits
import Synchronization
import Units

/// Answers requests from outside for plugins: who may ask, how often, and how much.
///
/// Whether there is an instance at a path is nobody's business: what is not there is answered 404 and nothing else.
final class InboundHandler: Sendable {
    private struct Rates {
        var clients: ClientRates
        var instances: RateTable<[String]>
    }

    /// Entries of a table, some 100 bytes each.
    private static let capacity = 10_000

    private let configuration: InboundConfiguration
    private let bodyTimeout: Duration
    private let receive: InboundReceiver
    private let counts: LimitCounts
    private let now: @Sendable () -> Timestamp
    private let rates: Mutex<Rates>

    init(
        configuration: InboundConfiguration,
        bodyTimeout: Duration,
        receive: @escaping InboundReceiver,
        counts: LimitCounts,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.configuration = configuration
        self.bodyTimeout = bodyTimeout
        self.receive = receive
        self.counts = counts
        self.now = now
        let limits = configuration.limits
        rates = Mutex(
            Rates(
                clients: ClientRates(
                    burst: limits.clientBurst,
                    perSecond: Double(limits.perClientPerSecond),
                    capacity: Self.capacity
                ),
                instances: RateTable(
                    burst: limits.instanceBurst,
                    perSecond: Double(limits.perInstancePerSecond),
                    capacity: Self.capacity
                )
            )
        )
    }

    func answer(_ request: Request, on channel: any Channel) async throws -> HTTPAnswer {
        let client = ClientAddress(
            peer: channel.remoteAddress?.ipAddress ?? "",
            forwardedFor: HTTPField.Name("X-Forwarded-For").map { request.headers[values: $0] } ?? [],
            isTrustedProxy: configuration.isTrustedProxy
        )
        let body = try await body(of: request, on: channel)
        if let pause = rejection(of: client) { return tooMany(pause) }
        guard let body else { return HTTPAnswer(status: .contentTooLarge) }
        guard var call = InboundCall(method: request.method.rawValue, target: request.head.path ?? "") else {
            return HTTPAnswer(status: .notFound)
        }
        if let pause = rejection(ofCallTo: [call.platform, call.app]) { return tooMany(pause) }
        call.headers = Self.headers(of: request)
        call.body = body
        return await receive(call).map(HTTPAnswer.init) ?? HTTPAnswer(status: .notFound)
    }

    /// Nil when it is longer than a plugin gets.
    private func body(of request: Request, on channel: any Channel) async throws -> [UInt8]? {
        let limits = configuration.limits
        var bytes: [UInt8] = []
        var count = 0
        try await request.readBody(atMost: limits.readBytes, within: bodyTimeout, on: channel) {
            part throws(RequestError) in
            count += part.readableBytes
            if count <= limits.bodyBytes.bytes { bytes += part.readableBytesView }
        }
        return count <= limits.bodyBytes.bytes ? bytes : nil
    }

    /// How long a client stays away that asks too often; nil when it may pass.
    private func rejection(of client: ClientAddress?) -> Duration? {
        // An address of this machine may be a proxy, and stand for everybody.
        guard let client, !client.isLoopback else { return nil }
        return rates.withLock { $0.clients.take(client, now: now()) ? nil : $0.clients.pause }
    }

    private func rejection(ofCallTo instance: [String]) -> Duration? {
        rates.withLock { $0.instances.take(instance, now: now()) ? nil : $0.instances.pause }
    }

    private func tooMany(_ pause: Duration) -> HTTPAnswer {
        counts.refused(by: .requests)
        return HTTPAnswer(status: .tooManyRequests, fields: [.retryAfter: String(pause.seconds)])
    }

    private static func headers(of request: Request) -> [(name: String, value: String)] {
        // What HTTP/1.1 says in a field of its own stands elsewhere here.
        var headers = request.head.authority.map { [(name: "host", value: $0)] } ?? []
        for field in request.headers where field.name != .cookie {
            headers.append((field.name.canonicalName, field.value))
        }
        return headers
    }
}

extension HTTPAnswer {
    fileprivate init(_ reply: InboundReply) {
        var fields = HTTPFields()
        for (name, value) in reply.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        self.init(status: HTTPResponse.Status(code: reply.status), fields: fields, bytes: reply.body)
    }
}
