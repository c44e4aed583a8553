import HTTPTypes
import HummingbirdCore
import Listening
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// The API's HTTP server: health, readiness and metrics for machines, and what the commands ask of a running router.
package final class ConsoleServer: Sendable {
    private struct Running {
        let server: Server<HTTP1Channel>
        let task: Task<Void, Never>
    }

    private let configuration: ConsoleConfiguration
    private let loop: any EventLoop
    private let handler: ConsoleHandler
    private let now: @Sendable () -> Int64
    private let logger: Logger
    private let census: Mutex<ConnectionCensus>
    private let running = Mutex<Running?>(nil)

    /// - Parameters:
    ///   - configuration: Where to listen and what a client may do.
    ///   - token: Opens what is not for everybody.
    ///   - backend: Answers.
    ///   - loop: The event loop to run on; stays the caller's.
    ///   - now: Milliseconds since 1970.
    ///   - logger: Where connections are logged, without addresses.
    package init(
        configuration: ConsoleConfiguration,
        token: APIToken,
        backend: any ConsoleBackend,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Int64,
        logger: Logger
    ) {
        self.configuration = configuration
        self.loop = loop
        self.now = now
        self.logger = logger
        handler = ConsoleHandler(configuration: configuration, token: token, backend: backend, now: now)
        census = Mutex(
            ConnectionCensus(
                limit: configuration.limits.connections,
                limitPerAddress: configuration.limits.connectionsPerAddress,
                now: now()
            )
        )
        // Swift's runtime (6.3.1) crashes now and then when several threads need this generic type for the first time at the
        // same moment: other servers of this process may.
        withExtendedLifetime(ByteToMessageHandler(HTTPRequestDecoder())) {}
    }

    /// Starts listening, and returns the port. Throws a `ListenError` when the address cannot be listened on.
    package func start() async throws -> Int {
        let (ports, port) = AsyncThrowingStream.makeStream(of: Int.self)
        let server = Server(
            childChannelSetup: HTTP1Channel(responder: respond, configuration: channelConfiguration),
            configuration: ServerConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                backlog: 128
            ),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) },
            eventLoopGroup: loop,
            // It would quote requests, and with them the token.
            logger: Logger(label: "carillon.console") { _ in SwiftLogNoOpLogHandler() }
        )
        let task = Task {
            do {
                try await server.run()
                port.finish()
            } catch {
                port.finish(throwing: ListenError(error))
            }
        }
        running.withLock { $0 = Running(server: server, task: task) }
        for try await number in ports { return number }
        throw CancellationError()
    }

    /// Stops listening at once, lets requests under way end for `patience` milliseconds, and then ends what is left.
    package func stop(within patience: Int64) async {
        guard let running = running.withLock({ $0.take() }) else { return }
        let impatience = loop.scheduleTask(in: .milliseconds(patience)) { running.task.cancel() }
        try? await running.server.shutdownGracefully()
        await running.task.value
        impatience.cancel()
    }

    private var channelConfiguration: HTTP1Channel.Configuration {
        let limits = configuration.limits
        return HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                self.gate(), UnreadAnswersGuard(patience: .seconds(limits.idleSeconds)),
            ],
            idleTimeout: .seconds(limits.idleSeconds),
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: limits.headerBytes,
                maxHeaderListSize: limits.headerBytes,
                maxHeaderFieldCount: 100
            )
        )
    }

    private func gate() -> ConnectionGate {
        ConnectionGate(
            admit: { self.admit($0) },
            leave: { address in self.census.withLock { $0.leave(address) } }
        )
    }

    private func admit(_ address: String) -> Bool {
        switch census.withLock({ $0.admit(address, now: now()) }) {
        case .admitted:
            return true
        case .refused(let limit, let isWorthALine):
            if isWorthALine {
                logger.warning("Refusing connections to the API: too many", metadata: ["limit": "\(limit)"])
            }
            return false
        }
    }

    @Sendable private func respond(
        _ request: Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws {
        let answer = try await handler.answer(request, on: channel)
        let head = answer.head
        guard request.method != .head else { return try await writer.writeResponse(head) }
        try await writer.write(response: head, body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
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
