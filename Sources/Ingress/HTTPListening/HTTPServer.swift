internal import HTTPTypes
package import HummingbirdCore
package import Listening
package import Logging
package import NIOCore
import NIOHTTP1
import Synchronization
import Units

/// A server for HTTP/1.1 that limits connections and closes those that are too slow, or whose clients do not read their
/// answers.
package final class HTTPServer: Sendable {
    /// Answers a request. An error ends the connection.
    package typealias Answer = @Sendable (Request, any Channel) async throws -> HTTPAnswer

    private struct Running {
        let server: Server<HostChecking>
        let task: Task<Void, Never>
    }

    private let terms: HTTPListeningTerms
    private let loop: any EventLoop
    private let now: @Sendable () -> Timestamp
    private let counts: LimitCounts
    private let logger: Logger
    private let answer: Answer
    private let executor: LoopExecutor?
    private let places: Mutex<SocketPlaces<any Channel>>
    private let running = Mutex<Running?>(nil)

    /// - Parameters:
    ///   - terms: Where to listen, and what a client may do.
    ///   - loop: The event loop to run on; it stays the caller's.
    ///   - now: The wall clock.
    ///   - counts: Counts connections and refusals.
    ///   - logger: Logs refused connections, without addresses.
    ///   - isOnLoop: Whether `answer` runs on the loop, which it must not hold up then.
    ///   - answer: Answers requests.
    package init(
        terms: HTTPListeningTerms,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        counts: LimitCounts,
        logger: Logger,
        isOnLoop: Bool = false,
        answer: @escaping Answer
    ) {
        self.terms = terms
        self.loop = loop
        self.now = now
        self.counts = counts
        self.logger = logger
        self.answer = answer
        executor = isOnLoop ? LoopExecutor(loop) : nil
        places = Mutex(
            SocketPlaces(
                census: ConnectionCensus(
                    limit: terms.connections,
                    limitPerAddress: terms.connectionsPerAddress,
                    now: now()
                ),
                idleAfter: .zero,
                ownGiveWay: true,
                reserve: terms.reserve
            )
        )
        // Swift's runtime (6.3.1) crashes now and then when several threads need this generic type for the first time
        // at the same moment: other servers of this process may.
        withExtendedLifetime(ByteToMessageHandler(HTTPRequestDecoder())) {}
    }

    /// Starts listening, and returns the port; 0 for a socket in the file system. Throws a `ListenError` when the
    /// address cannot be listened on.
    package func start() async throws -> Int {
        let (ports, port) = AsyncThrowingStream.makeStream(of: Int.self)
        let server = Server(
            childChannelSetup: HostChecking(
                base: HTTP1Channel(responder: respond, configuration: channelConfiguration)
            ),
            configuration: ServerConfiguration(
                address: terms.place.address,
                backlog: 1024
            ),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) },
            eventLoopGroup: loop,
            // Hummingbird's log would quote requests, and with them tokens.
            logger: Logger(label: "carillon.http") { _ in SwiftLogNoOpLogHandler() }
        )
        let task = Task(executorPreference: executor) {
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

    /// Stops listening at once, lets requests under way end for `patience`, and then ends what is left.
    package func stop(within patience: Duration) async {
        guard let running = running.withLock({ $0.take() }) else { return }
        let impatience = loop.scheduleTask(in: TimeAmount(patience)) { running.task.cancel() }
        try? await running.server.shutdownGracefully()
        await running.task.value
        impatience.cancel()
    }

    private var respond: HTTPChannelHandler.Responder {
        { [answer] request, writer, channel in
            let answer = try await answer(request, channel)
            switch answer.body {
            case .live(let body) where request.method == .head:
                body.end()
                try await writer.writeResponse(answer.head)
            case .live(let body):
                defer { body.end() }
                // Whoever waits for the next part does not see that the client has gone.
                channel.closeFuture.whenComplete { _ in body.end() }
                var bodyWriter: any ResponseBodyWriter = try await writer.writeHead(answer.head)
                while let part = await body.next() { try await bodyWriter.write(part) }
                try await bodyWriter.finish(nil)
            case .whole(let bytes) where request.method == .head || bytes.readableBytes == 0:
                try await writer.writeResponse(answer.head)
            case .whole(let bytes):
                try await writer.write(response: answer.head, body: ResponseBody(byteBuffer: bytes))
            }
        }
    }

    private var channelConfiguration: HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                self.keeper(), UnreadAnswersGuard(patience: TimeAmount(self.terms.idleTimeout)), ContinueHandler(),
                LiveAnswerGuard(),
            ],
            idleTimeout: TimeAmount(terms.idleTimeout),
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: terms.headerBytes.bytes,
                maxHeaderListSize: terms.headerBytes.bytes,
                maxHeaderFieldCount: 100
            )
        )
    }

    private func keeper() -> PlaceKeeper {
        PlaceKeeper(
            headTimeout: TimeAmount(min(terms.headTimeout, terms.idleTimeout)),
            mayUseReserve: terms.mayUseReserve,
            now: now,
            admit: { self.admit($0, $1) }
        )
    }

    private func admit(_ channel: any Channel, _ activity: SocketActivity) -> PlaceKeeper.Place? {
        let address = ClientAddress.plain(channel.remoteAddress?.ipAddress ?? "")
        let client = terms.isTrustedProxy(address) ? nil : ClientAddress(address)
        let (verdict, isInReserve) = places.withLock { places in
            (places.admit(client, channel, activity, now: now()), places.isInReserve)
        }
        switch verdict {
        case .admitted(let number, let former):
            counts.opened()
            channel.closeFuture.whenComplete { _ in
                self.places.withLock { $0.leave(number) }
                self.counts.closed()
            }
            if let former {
                counts.refused(by: .idle)
                former.close(promise: nil)
            }
            return isInReserve ? .reserve : .usual
        case .refused(let limit, let isWorthALine):
            counts.refused(by: .connections)
            if isWorthALine { logger.warning("\(terms.refusalLine)", metadata: ["limit": "\(limit)"]) }
            return nil
        }
    }
}

/// Hummingbird's HTTP/1.1, which answers 400 besides to requests that name no host or two.
private struct HostChecking: ServerChildChannel {
    /// Ends the requests with an error of the parser's, which is answered when those before are.
    private final class Rule: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias InboundOut = HTTPServerRequestPart

        private var isOver = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isOver else { return }
            if case .head(let head) = unwrapInboundIn(data),
                !HostField.permits(head.headers["host"].count, isBefore11: head.version == .http1_0)
            {
                isOver = true
                return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            }
            context.fireChannelRead(data)
        }
    }

    let base: HTTP1Channel

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(Rule(), position: .after(decoder))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// Where an HTTP server listens.
package enum ListeningPlace: Sendable {
    /// An address of this machine; port 0 lets the system choose.
    case network(host: String, port: Int)
    /// A socket in the file system, for programs of this machine. One that is there is replaced.
    case file(String)

    fileprivate var address: BindAddress {
        switch self {
        case .network(let host, let port): .hostname(host, port: port)
        case .file(let path): .unixDomainSocket(path: path)
        }
    }
}

/// Where an HTTP server listens, and what one client may cost it.
package struct HTTPListeningTerms: Sendable {
    package let place: ListeningPlace
    /// The most connections at the same time. A further one replaces the one that was silent for longest, and is closed
    /// when all have a request in work.
    package let connections: Int
    /// The same from one address. Trusted proxies and this machine have no such limit.
    package let connectionsPerAddress: Int
    /// Connections beyond the limit while all others have a request in work, for requests that may use them.
    package var reserve = 0
    /// Whether a request for this path may use the reserve; others get 503 there.
    package var mayUseReserve: @Sendable (_ path: String) -> Bool = { _ in false }
    /// The longest request line and header.
    package let headerBytes: ByteCount
    /// How long a connection may be idle, take for a header, or leave an answer unread.
    package let idleTimeout: Duration
    /// How long a connection may take to the end of its first header.
    package var headTimeout: Duration = .seconds(10)
    /// Whether an address belongs to a proxy, which stands for many clients.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// The log message for a refused connection, logged once in a while.
    package let refusalLine: String

    package init(
        at place: ListeningPlace,
        connections: Int,
        connectionsPerAddress: Int,
        headerBytes: ByteCount,
        idleTimeout: Duration,
        refusalLine: String
    ) {
        self.place = place
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.headerBytes = headerBytes
        self.idleTimeout = idleTimeout
        self.refusalLine = refusalLine
    }
}
