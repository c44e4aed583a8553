import Core
import HTTPTypes
import HummingbirdCore
import Listeners
import Logging
import NIOCore

extension HTTPServer {
    /// Makes the API's server: health, readiness and metrics for monitoring, and the calls of the CLI.
    ///
    /// - Parameters:
    ///   - configuration: The address and the limits for one client.
    ///   - authenticator: Identifies clients; nil: no token is needed, as on a Unix socket.
    ///   - endpoints: All endpoints.
    ///   - loop: The caller's event loop. It checks requests, and answers brief ones.
    ///   - now: The wall clock.
    ///   - logger: Logs connections, without addresses.
    package convenience init(
        configuration: ConsoleConfiguration,
        authenticator: APIAuthenticator?,
        endpoints: [APIEndpoint],
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        let counts = configuration.counts
        let handler = ConsoleHandler(
            configuration: configuration,
            authenticator: authenticator,
            endpoints: endpoints,
            now: now
        )
        let inbound = configuration.inbound.map {
            InboundHandler(configuration: $0, bodyTimeout: configuration.limits.bodyTimeout, counts: counts, now: now)
        }
        let probes = Set(endpoints.lazy.filter(\.isProbe).map(\.path) + ["/metrics"])
        var terms = configuration.terms
        terms.reserve = ConsoleConfiguration.reserve
        terms.mayUseReserve = { probes.contains($0) }
        // Brief requests are answered on the event loop; all others on the shared thread pool.
        self.init(terms: terms, loop: loop, now: now, counts: counts, logger: logger) { request, channel in
            if let inbound, InboundCall.isMeant(by: request.head.path ?? "") {
                return try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try await inbound.answer(request, on: channel)
                }
            }
            return try await handler.answer(request, on: channel)
        }
    }
}

extension ConsoleConfiguration {
    fileprivate var terms: HTTPListeningTerms {
        var terms = HTTPListeningTerms(
            at: socket.map(ListeningPlace.file) ?? .network(host: host, port: port),
            connections: max(limits.connections, inbound?.limits.connections ?? 0),
            connectionsPerAddress: limits.connectionsPerAddress,
            headerBytes: limits.headerBytes,
            idleTimeout: limits.idleTimeout,
            refusalLine: "Refused connections to the API: too many"
        )
        terms.isTrustedProxy = { [isTrustedProxy, inbound] address in
            isTrustedProxy(address) || inbound?.isTrustedProxy(address) == true
        }
        terms.isOnLoop = true
        terms.answerWithoutHost = { ConsoleHandler.answerWithoutHost }
        return terms
    }
}

/// The API's address, access and limits for one client. The defaults suit tools on this machine.
package struct ConsoleConfiguration: Sendable {
    /// The limits that apply to clients of the API's server.
    package static let clientLimits: [ClientLimit] = [.connections, .idle, .requests, .work]
    /// Extra connections for health, readiness and metrics.
    fileprivate static let reserve = 8

    package var host = "127.0.0.1"
    /// The port; 0 lets the system choose.
    package var port = 7448
    /// The Unix socket to listen on instead; nil: none.
    package var socket: String?
    /// Files for browsers. Default: none.
    package var pages: [StaticSite] = []
    /// Whether metrics need no token.
    package var openMetrics = false
    /// Counts connections and refusals.
    package var counts = LimitCounts()
    package var limits = Limits()
    /// Whether to trust `X-Forwarded-For` from an address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// Settings of external requests to plugins; nil: not served.
    package var inbound: InboundConfiguration?

    package init() {}

    /// Limits for one client.
    package struct Limits: Sendable, Equatable {
        /// Concurrent connections. A new one above the limit replaces the longest-silent one; it is closed if all
        /// others have a request in progress.
        package var connections = 100
        /// The same from one address; this machine has no such limit.
        package var connectionsPerAddress = 20
        /// Sustained rate of requests without a valid token from one address, per second.
        package var strangersPerSecond = 5
        /// The burst before that rate applies.
        package var strangersBurst = 50
        /// Sustained rate of requests of one token or signing key, per second.
        package var perPrincipalPerSecond = 200
        /// The burst before that rate applies.
        package var principalBurst = 2_000
        /// Concurrent calls; more get 503.
        package var callsAtATime = 16
        /// Concurrent calls that send notifications; they cost little while they wait for the disk.
        package var sendsAtATime = 256
        /// The longest body, unless the endpoint sets another limit; a longer one gets 413.
        package var bodyBytes: ByteCount = .kibibytes(64)
        /// Concurrent calls with a longer body; more get 503.
        package var longBodiesAtATime = 8
        /// The longest request line and header.
        package var headerBytes: ByteCount = .kibibytes(16)
        /// Timeout from the end of the header to the end of the body.
        package var bodyTimeout: Duration = .seconds(15)
        /// Timeout for an idle connection, for a header, and for a client that does not read a response.
        package var idleTimeout: Duration = .seconds(60)

        package init() {}
    }
}

/// Answers requests that did not arrive over HTTP, with the same checks and limits.
package struct DirectAPI: Sendable {
    private let handler: ConsoleHandler

    /// - Parameters:
    ///   - authenticator: Identifies clients.
    ///   - endpoints: All endpoints.
    ///   - now: The wall clock.
    package init(
        authenticator: @escaping APIAuthenticator,
        endpoints: [APIEndpoint],
        now: @escaping @Sendable () -> Timestamp
    ) {
        handler = ConsoleHandler(
            configuration: ConsoleConfiguration(),
            authenticator: authenticator,
            endpoints: endpoints,
            now: now
        )
    }

    /// Returns status and body; the body is empty for a response without an end.
    package func answer(_ head: APIRequestHead) async -> (status: Int, body: String) {
        let answer = await handler.answer(head)
        guard case .whole(let body) = answer.body else { return (answer.status.code, "") }
        return (answer.status.code, String(buffer: body))
    }
}
