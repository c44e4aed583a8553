import Core
import HTTPTypes
import HummingbirdCore
import Listeners
import NIOCore
import Synchronization

/// A request from outside for an instance of a plugin.
package struct InboundCall: Sendable {
    package var platform: String
    package var app: String
    package var method: String
    /// What follows the instance's path: empty, or from `/` on, as it came.
    package var path: String
    /// What follows `?`, as it came.
    package var query: String
    /// Names in lower case, without `cookie`.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []

    private static let root = "/plugins"

    /// Whether a target lies where plugins are reached, whatever is there.
    static func isMeant(by target: String) -> Bool {
        target == root || ["/", "?"].contains { target.hasPrefix(root + $0) }
    }

    /// Nil for a target that names no instance.
    init?(method: String, target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, whole.hasPrefix(Self.root + "/") else { return nil }
        let names = whole.dropFirst(Self.root.count + 1)
            .split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard names.count >= 2, !names[0].isEmpty, !names[1].isEmpty,
            let app = PercentEncoding.decode(names[1].utf8).flatMap({ String(validating: $0, as: UTF8.self) })
        else { return nil }
        self.method = method
        platform = String(names[0])
        self.app = app
        path = names.count > 2 ? "/" + names[2] : ""
        query = parts.count > 1 ? String(parts[1]) : ""
    }

    /// The URL of an instance, below the public one of the API.
    package static func url(publicURL: String, platform: String, app: String) -> String {
        "\(publicURL)\(root)/\(platform)/\(PercentEncoding.encode(app))"
    }
}

/// Takes requests from outside to plugins. Called from any thread, many at a time.
package typealias InboundReceiver = @Sendable (InboundCall) async -> InboundReply?

/// What a plugin answers to an ``InboundCall``.
package struct InboundReply: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Where plugins are reached from outside, and what one client may do there.
package struct InboundConfiguration: Sendable {
    /// The URL under which clients reach the API, without `/` at its end.
    package var publicURL: String
    /// What a plugin answers to a request from outside; nil where there is none that takes one.
    package var receive: InboundReceiver = { _ in nil }
    /// Whether to trust `X-Forwarded-For` from an address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    package var limits = Limits()

    package init(publicURL: String) {
        self.publicURL = publicURL
    }

    /// What one client may do.
    package struct Limits: Sendable, Equatable {
        /// Connections to the API at the same time, where plugins are reached through it.
        package var connections = 1_000
        /// Requests from one address a second, over time. This machine has no such limit: a proxy may be behind it.
        package var perClientPerSecond = 10
        /// Requests from one address at once, before the rate counts.
        package var clientBurst = 100
        /// Requests for one instance a second, over time.
        package var perInstancePerSecond = 50
        /// Requests for one instance at once, before the rate counts.
        package var instanceBurst = 200
        /// The longest body that a plugin gets; a longer one is answered 413.
        package var bodyBytes: ByteCount = .kibibytes(256)
        /// The longest body that is read at all; a longer one ends the connection.
        package var readBytes: ByteCount = .mebibytes(1)

        package init() {}
    }
}

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
    private let counts: LimitCounts
    private let now: @Sendable () -> Timestamp
    private let rates: Mutex<Rates>

    init(
        configuration: InboundConfiguration,
        bodyTimeout: Duration,
        counts: LimitCounts,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.configuration = configuration
        self.bodyTimeout = bodyTimeout
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
        return await configuration.receive(call).map(HTTPAnswer.init) ?? HTTPAnswer(status: .notFound)
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
