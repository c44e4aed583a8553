import Core
import HTTPTypes
import HummingbirdCore
import Listeners
import NIOCore
import Synchronization

/// An external request to a plugin instance.
package struct InboundCall: Sendable {
    package var platform: String
    package var app: String
    package var method: String
    /// The path after the instance's: empty, or starting with `/`; undecoded.
    package var path: String
    /// The undecoded query, without `?`.
    package var query: String
    /// Lower-case names; `cookie` is removed.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []

    private static let root = "/plugins"

    /// Whether a target is below the path of plugins, whether or not the instance exists.
    static func isMeant(by target: String) -> Bool {
        target == root || ["/", "?"].contains { target.hasPrefix(root + $0) }
    }

    /// Returns nil for a target that names no instance.
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

    /// The URL of an instance, below the API's public URL.
    package static func url(publicURL: String, platform: String, app: String) -> String {
        "\(publicURL)\(root)/\(platform)/\(PercentEncoding.encode(app))"
    }
}

/// Passes an external request to a plugin. Called from any thread, also concurrently.
package typealias InboundReceiver = @Sendable (InboundCall) async -> InboundReply?

/// A plugin's response to an ``InboundCall``.
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

/// Settings and client limits for requests to plugins.
package struct InboundConfiguration: Sendable {
    /// The API's URL for clients, without a trailing `/`.
    package var publicURL: String
    /// Returns the plugin's response; nil if no instance takes the request.
    package var receive: InboundReceiver = { _ in nil }
    /// Whether to trust `X-Forwarded-For` from an address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    package var limits = Limits()

    package init(publicURL: String) {
        self.publicURL = publicURL
    }

    /// Limits for one client.
    package struct Limits: Sendable, Equatable {
        /// Concurrent connections to the API, if it serves plugins.
        package var connections = 1_000
        /// Sustained rate of requests from one address, per second. This machine has no such limit, because it may run
        /// a proxy.
        package var perClientPerSecond = 10
        /// The burst before that rate applies.
        package var clientBurst = 100
        /// Sustained rate of requests for one instance, per second.
        package var perInstancePerSecond = 50
        /// The burst before that rate applies.
        package var instanceBurst = 200
        /// The longest body that a plugin gets; a longer one gets 413.
        package var bodyBytes: ByteCount = .kibibytes(256)
        /// The longest body that is read; a longer one closes the connection.
        package var readBytes: ByteCount = .mebibytes(1)

        package init() {}
    }
}

/// Answers external requests to plugins, within rate and size limits.
///
/// A path without an instance gets a plain 404, so that clients do not learn which instances exist.
final class InboundHandler: Sendable {
    private struct Rates {
        var clients: ClientRates
        var instances: RateTable<[String]>
    }

    /// Entries of a table, about 100 bytes each.
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

    /// Returns nil if it is longer than a plugin gets.
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

    /// How long a client above its rate limit must wait; nil if it may pass.
    private func rejection(of client: ClientAddress?) -> Duration? {
        // An address of this machine may be a proxy for all clients.
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
        // HTTP/1.1's Host field is stored separately here.
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
