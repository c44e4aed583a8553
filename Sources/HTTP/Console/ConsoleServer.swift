import Core
import HTTPTypes
import HummingbirdCore
import Listeners
import Logging
import NIOCore

/// The API's HTTP server: health, readiness and metrics for machines, and what the commands ask a running router.
package final class ConsoleServer: Sendable {
    /// The limits that clients can meet here.
    package static let clientLimits: [ClientLimit] = [.connections, .idle, .requests, .work]

    /// Connections beyond the limit, for health, readiness and metrics.
    private static let reserve = 8

    private let server: HTTPServer

    /// - Parameters:
    ///   - configuration: Where to listen, and what a client may do.
    ///   - authenticator: Tells who asks; nil: no token is asked for, as on a socket in the file system.
    ///   - endpoints: All that there is.
    ///   - loop: The event loop to run on; it stays the caller's. Requests are checked there, and brief ones answered.
    ///   - now: The wall clock.
    ///   - logger: Logs connections, without addresses.
    package init(
        configuration: ConsoleConfiguration,
        authenticator: (any APIAuthenticator)?,
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
        terms.reserve = Self.reserve
        terms.mayUseReserve = { probes.contains($0) }
        // Requests that are quick to answer are answered where they are read. All others have the threads that
        // everybody shares.
        server = HTTPServer(terms: terms, loop: loop, now: now, counts: counts, logger: logger) { request, channel in
            if let inbound, InboundCall.isMeant(by: request.head.path ?? "") {
                return try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try await inbound.answer(request, on: channel)
                }
            }
            return try await handler.answer(request, on: channel)
        }
    }

    /// Starts listening, and returns the port. Throws a `ListenError` when the address cannot be listened on.
    package func start() async throws -> Int { try await server.start() }

    /// Stops listening at once, lets requests under way end for `patience`, and then ends what is left.
    package func stop(within patience: Duration) async { await server.stop(within: patience) }
}

extension ConsoleConfiguration {
    fileprivate var terms: HTTPListeningTerms {
        var terms = HTTPListeningTerms(
            at: socket.map(ListeningPlace.file) ?? .network(host: host, port: port),
            connections: max(limits.connections, inbound?.limits.connections ?? 0),
            connectionsPerAddress: limits.connectionsPerAddress,
            headerBytes: limits.headerBytes,
            idleTimeout: limits.idleTimeout,
            refusalLine: "Refusing connections to the API: too many"
        )
        terms.isTrustedProxy = { [isTrustedProxy, inbound] address in
            isTrustedProxy(address) || inbound?.isTrustedProxy(address) == true
        }
        terms.isOnLoop = true
        terms.answerWithoutHost = { ConsoleHandler.answerWithoutHost }
        return terms
    }
}

/// Where the API listens, who may ask, and what one client may do. The defaults suit tools on this machine.
package struct ConsoleConfiguration: Sendable {
    /// The address to listen on.
    package var host = "127.0.0.1"
    /// The port to listen on; 0 lets the system choose.
    package var port = 7448
    /// A socket in the file system to listen on instead; nil: none.
    package var socket: String?
    /// Files for browsers. Default: none.
    package var pages: [StaticSite] = []
    /// Whether metrics are shown to those without a token.
    package var openMetrics = false
    /// Where connections and refusals are counted.
    package var counts = LimitCounts()
    package var limits = Limits()
    /// Whether to trust `X-Forwarded-For` from an address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// Where plugins are reached from outside; nil: nowhere.
    package var inbound: InboundConfiguration?

    package init() {}

    /// What one client may do.
    package struct Limits: Sendable, Equatable {
        /// Connections at the same time. A further one replaces the one that was silent for longest, and is closed when
        /// all have a request in work.
        package var connections = 100
        /// The same from one address; this machine has no such limit.
        package var connectionsPerAddress = 20
        /// Requests without the token, or with a wrong one, from one address a second, over time.
        package var strangersPerSecond = 5
        /// The same at once, before the rate counts.
        package var strangersBurst = 50
        /// Requests of one token, or of one key that signs, a second, over time.
        package var perPrincipalPerSecond = 200
        /// The same at once, before the rate counts.
        package var principalBurst = 2_000
        /// Calls in work at the same time; further ones get 503.
        package var callsAtATime = 16
        /// The same of calls that send notifications: they wait for the disk, and cost little meanwhile.
        package var sendsAtATime = 256
        /// The longest body that is read where an endpoint names no other limit; a longer one gets 413.
        package var bodyBytes: ByteCount = .kibibytes(64)
        /// Calls with a longer body in work at the same time; further ones get 503.
        package var longBodiesAtATime = 8
        /// The longest request line and header.
        package var headerBytes: ByteCount = .kibibytes(16)
        /// How long a client may take from the end of its header to the end of its body.
        package var bodyTimeout: Duration = .seconds(15)
        /// How long a connection may be idle, take for a header, or leave an answer unread.
        package var idleTimeout: Duration = .seconds(60)

        package init() {}
    }
}

/// Answers requests that came another way than by HTTP as a server would: with the same checks and limits.
package struct DirectAPI: Sendable {
    private let handler: ConsoleHandler

    /// - Parameters:
    ///   - authenticator: Tells who asks.
    ///   - endpoints: All that there is.
    ///   - now: The wall clock.
    package init(
        authenticator: any APIAuthenticator,
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

    /// Status and body; an answer without an end has none.
    package func answer(_ head: APIRequestHead) async -> (status: Int, body: String) {
        let answer = await handler.answer(head)
        guard case .whole(let body) = answer.body else { return (answer.status.code, "") }
        return (answer.status.code, String(buffer: body))
    }
}
