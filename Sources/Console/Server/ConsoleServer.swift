import HTTPListening
import HTTPTypes
import HummingbirdCore
import Listening
import Logging
import NIOCore

/// The API's HTTP server: health, readiness and metrics for machines, and what the commands ask of a running router.
package final class ConsoleServer: Sendable {
    /// What clients can meet here.
    package static let clientLimits: [ClientLimit] = [.connections, .requests, .work]

    private let server: GuardedHTTPServer

    /// - Parameters:
    ///   - configuration: Where to listen and what a client may do.
    ///   - token: Opens what is not for everybody; asked for with each request.
    ///   - backend: Answers.
    ///   - loop: The event loop to run on; stays the caller's.
    ///   - now: Milliseconds since 1970.
    ///   - counts: Where connections and refusals are counted.
    ///   - logger: Where connections are logged, without addresses.
    package init(
        configuration: ConsoleConfiguration,
        token: @escaping @Sendable () -> APIToken,
        backend: any ConsoleBackend,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Int64,
        counts: DoorCounts = DoorCounts(),
        logger: Logger
    ) {
        let handler = ConsoleHandler(
            configuration: configuration,
            token: token,
            backend: backend,
            counts: counts,
            now: now
        )
        server = GuardedHTTPServer(
            terms: configuration.terms,
            loop: loop,
            now: now,
            counts: counts,
            logger: logger
        ) { request, writer, channel in
            let answer = try await handler.answer(request, on: channel)
            let head = answer.head
            guard request.method != .head else { return try await writer.writeResponse(head) }
            try await writer.write(response: head, body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
        }
    }

    /// Starts listening, and returns the port. Throws a `ListenError` when the address cannot be listened on.
    package func start() async throws -> Int { try await server.start() }

    /// Stops listening at once, lets requests under way end for `patience` milliseconds, and then ends what is left.
    package func stop(within patience: Int64) async { await server.stop(within: patience) }
}

extension ConsoleConfiguration {
    fileprivate var terms: HTTPListeningTerms {
        HTTPListeningTerms(
            host: host,
            port: port,
            connections: limits.connections,
            connectionsPerAddress: limits.connectionsPerAddress,
            headerBytes: limits.headerBytes,
            idleSeconds: limits.idleSeconds,
            refusalLine: "Refusing connections to the API: too many"
        )
    }
}

extension ConsoleAnswer {
    fileprivate var head: HTTPResponse {
        var fields: HTTPFields = [
            .contentType: contentType, .contentLength: String(body.utf8.count), .cacheControl: "no-store",
        ]
        if let retryAfter { fields[.retryAfter] = String(retryAfter) }
        if let allow { fields[.allow] = allow }
        if status == 401 { fields[.wwwAuthenticate] = "Bearer" }
        return HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
    }
}
