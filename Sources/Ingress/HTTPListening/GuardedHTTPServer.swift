package import HummingbirdCore
import Listening
package import Logging
package import NIOCore
import NIOHTTP1
import Synchronization

/// A server for HTTP/1.1 that closes connections which are too many, too slow, or whose clients leave their answers unread.
package final class GuardedHTTPServer: Sendable {
    private struct Running {
        let server: Server<HTTP1Channel>
        let task: Task<Void, Never>
    }

    private let terms: HTTPListeningTerms
    private let loop: any EventLoop
    private let now: @Sendable () -> Int64
    private let counts: DoorCounts
    private let logger: Logger
    private let respond: HTTPChannelHandler.Responder
    private let census: Mutex<ConnectionCensus>
    private let running = Mutex<Running?>(nil)

    /// - Parameters:
    ///   - terms: Where to listen and what a client may do.
    ///   - loop: The event loop to run on; stays the caller's.
    ///   - now: Milliseconds since 1970.
    ///   - counts: Where connections and refused ones are counted.
    ///   - logger: Where refused connections are logged, without addresses.
    ///   - respond: Answers a request. What it throws ends the connection.
    package init(
        terms: HTTPListeningTerms,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Int64,
        counts: DoorCounts,
        logger: Logger,
        respond: @escaping HTTPChannelHandler.Responder
    ) {
        self.terms = terms
        self.loop = loop
        self.now = now
        self.counts = counts
        self.logger = logger
        self.respond = respond
        census = Mutex(
            ConnectionCensus(limit: terms.connections, limitPerAddress: terms.connectionsPerAddress, now: now())
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
                address: .hostname(terms.host, port: terms.port),
                backlog: 1024
            ),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) },
            eventLoopGroup: loop,
            // It would quote requests, and with them tokens.
            logger: Logger(label: "carillon.http") { _ in SwiftLogNoOpLogHandler() }
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
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                self.gate(), UnreadAnswersGuard(patience: .seconds(self.terms.idleSeconds)), ContinueHandler(),
            ],
            idleTimeout: .seconds(terms.idleSeconds),
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: terms.headerBytes,
                maxHeaderListSize: terms.headerBytes,
                maxHeaderFieldCount: 100
            )
        )
    }

    private func gate() -> ConnectionGate {
        ConnectionGate(
            admit: { self.admit($0) },
            leave: { address in
                self.census.withLock { $0.leave(address, isProxy: self.terms.isTrustedProxy(address)) }
                self.counts.closed()
            }
        )
    }

    private func admit(_ address: String) -> Bool {
        let isProxy = terms.isTrustedProxy(address)
        switch census.withLock({ $0.admit(address, isProxy: isProxy, now: now()) }) {
        case .admitted:
            counts.opened()
            return true
        case .refused(let limit, let isWorthALine):
            counts.refused(by: .connections)
            if isWorthALine { logger.warning("\(terms.refusalLine)", metadata: ["limit": "\(limit)"]) }
            return false
        }
    }
}
