import BrowserPages
import HTTPListening
import HTTPTypes
import HummingbirdCore
import Listening
import Logging
import NIOCore
import Units

/// The API's HTTP server: health, readiness and metrics for machines, and what the commands ask a running router.
package final class ConsoleServer: Sendable {
    /// The limits that clients can meet here.
    package static let clientLimits: [ClientLimit] = [.connections, .idle, .requests, .work]

    /// Connections beyond the limit, for health, readiness and metrics.
    private static let reserve = 8

    private let server: HTTPServer

    /// - Parameters:
    ///   - configuration: Where to listen, and what a client may do.
    ///   - authenticator: Tells who asks.
    ///   - endpoints: All that there is.
    ///   - pages: Files for browsers.
    ///   - receive: What a plugin answers to a request from outside; nil where there is none that takes one.
    ///   - loop: The event loop to run on; it stays the caller's. Requests are checked there, and brief ones answered.
    ///   - now: The wall clock.
    ///   - counts: Counts connections and refusals.
    ///   - logger: Logs connections, without addresses.
    package convenience init(
        configuration: ConsoleConfiguration,
        authenticator: any APIAuthenticator,
        endpoints: [APIEndpoint],
        pages: [StaticSite] = [],
        receive: @escaping InboundReceiver = { _ in nil },
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        counts: LimitCounts = LimitCounts(),
        logger: Logger
    ) {
        let handler = ConsoleHandler(
            configuration: configuration,
            authenticator: authenticator,
            routes: RouteTable(endpoints),
            pages: pages,
            counts: counts,
            rest: LoopRest(loop),
            now: now
        )
        let inbound = configuration.inbound.map { inbound in
            InboundHandler(
                configuration: inbound,
                bodyTimeout: configuration.limits.bodyTimeout,
                receive: receive,
                counts: counts,
                now: now
            )
        }
        var terms = configuration.terms(at: .network(host: configuration.host, port: configuration.port))
        let probes = Set(endpoints.lazy.filter(\.isProbe).map(\.path) + ["/metrics"])
        terms.reserve = Self.reserve
        terms.mayUseReserve = { probes.contains($0) }
        self.init(handler, inbound, terms: terms, loop: loop, now: now, counts: counts, logger: logger)
    }

    /// A server on a socket in the file system, for whoever may open `socket`: no token is asked for.
    package convenience init(
        socket: String,
        endpoints: [APIEndpoint],
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        let configuration = ConsoleConfiguration()
        let counts = LimitCounts()
        let handler = ConsoleHandler(
            configuration: configuration,
            authenticator: nil,
            routes: RouteTable(endpoints),
            counts: counts,
            now: now
        )
        let terms = configuration.terms(at: .file(socket))
        self.init(handler, nil, terms: terms, loop: loop, now: now, counts: counts, logger: logger)
    }

    private init(
        _ handler: ConsoleHandler,
        _ inbound: InboundHandler?,
        terms: HTTPListeningTerms,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        counts: LimitCounts,
        logger: Logger
    ) {
        // Requests that are quick to answer are answered where they are read. All others have the threads that
        // everybody shares.
        server = HTTPServer(terms: terms, loop: loop, now: now, counts: counts, logger: logger, isOnLoop: true) {
            request,
            channel in
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
    fileprivate func terms(at place: ListeningPlace) -> HTTPListeningTerms {
        var terms = HTTPListeningTerms(
            at: place,
            connections: max(limits.connections, inbound?.limits.connections ?? 0),
            connectionsPerAddress: limits.connectionsPerAddress,
            headerBytes: limits.headerBytes,
            idleTimeout: limits.idleTimeout,
            refusalLine: "Refusing connections to the API: too many"
        )
        terms.isTrustedProxy = { [isTrustedProxy, inbound] address in
            isTrustedProxy(address) || inbound?.isTrustedProxy(address) == true
        }
        return terms
    }
}
