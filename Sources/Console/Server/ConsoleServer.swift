import HTTPListening
import HTTPTypes
import Listening
import Logging
import NIOCore
import Units

/// The API's HTTP server: health, readiness and metrics for machines, and what the commands ask a running router.
package final class ConsoleServer: Sendable {
    /// The limits that clients can meet here.
    package static let clientLimits: [ClientLimit] = [.connections, .requests, .work]

    private let server: HTTPServer

    /// - Parameters:
    ///   - configuration: Where to listen, and what a client may do.
    ///   - token: Opens what is not public; called for each request.
    ///   - backend: Answers calls.
    ///   - loop: The event loop to run on; it stays the caller's.
    ///   - now: The wall clock.
    ///   - counts: Counts connections and refusals.
    ///   - logger: Logs connections, without addresses.
    package init(
        configuration: ConsoleConfiguration,
        token: @escaping @Sendable () -> APIToken,
        backend: any ConsoleBackend,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        counts: LimitCounts = LimitCounts(),
        logger: Logger
    ) {
        let handler = ConsoleHandler(
            configuration: configuration,
            token: token,
            backend: backend,
            counts: counts,
            now: now
        )
        server = HTTPServer(terms: configuration.terms, loop: loop, now: now, counts: counts, logger: logger) {
            HTTPAnswer(try await handler.answer($0, on: $1))
        }
    }

    /// Starts listening, and returns the port. Throws a `ListenError` when the address cannot be listened on.
    package func start() async throws -> Int { try await server.start() }

    /// Stops listening at once, lets requests under way end for `patience`, and then ends what is left.
    package func stop(within patience: Duration) async { await server.stop(within: patience) }
}

extension ConsoleConfiguration {
    fileprivate var terms: HTTPListeningTerms {
        HTTPListeningTerms(
            host: host,
            port: port,
            connections: limits.connections,
            connectionsPerAddress: limits.connectionsPerAddress,
            headerBytes: limits.headerBytes,
            idleTimeout: limits.idleTimeout,
            refusalLine: "Refusing connections to the API: too many"
        )
    }
}

extension HTTPAnswer {
    fileprivate init(_ answer: ConsoleAnswer) {
        var fields: HTTPFields = [.contentType: answer.contentType, .cacheControl: "no-store"]
        if let retryAfter = answer.retryAfter { fields[.retryAfter] = String(retryAfter.seconds) }
        if let allow = answer.allow { fields[.allow] = allow }
        if answer.status == 401 { fields[.wwwAuthenticate] = "Bearer" }
        self.init(status: HTTPResponse.Status(code: answer.status), fields: fields, body: answer.body)
    }
}
