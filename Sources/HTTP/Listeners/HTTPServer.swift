import Core
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// A server for HTTP/1.1 that limits connections and closes those that are too slow, or whose clients do not read their
/// answers.
package final class HTTPServer: Sendable {
    /// Answers a request. An error ends the connection.
    package typealias Answer = @Sendable (Request, any Channel) async throws -> HTTPAnswer

    private struct Running {
        let server: Server<HeadChecking>
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
    ///   - answer: Answers requests.
    package init(
        terms: HTTPListeningTerms,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        counts: LimitCounts,
        logger: Logger,
        answer: @escaping Answer
    ) {
        self.terms = terms
        self.loop = loop
        self.now = now
        self.counts = counts
        self.logger = logger
        self.answer = answer
        executor = terms.isOnLoop ? LoopExecutor(loop) : nil
        places = Mutex(
            SocketPlaces(
                counts: ConnectionCounts(
                    limit: terms.connections,
                    limitPerAddress: terms.connectionsPerAddress,
                    now: now()
                ),
                idleAfter: .zero,
                ownGiveWay: true,
                reserve: terms.reserve
            )
        )
        FrameRules.instantiateDecoders()
    }

    /// Starts listening, and returns the port; 0 for a socket in the file system. Throws a `ListenError` when the
    /// address cannot be listened on.
    package func start() async throws -> Int {
        let (ports, port) = AsyncThrowingStream.makeStream(of: Int.self)
        let server = Server(
            childChannelSetup: HeadChecking(
                base: HTTP1Channel(responder: respond, configuration: channelConfiguration)
            ),
            configuration: ServerConfiguration(address: terms.place.address, backlog: 1024),
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
        { [answer, terms] request, writer, channel in
            let isRefused = HeadChecking.refuses(request)
            var answer = isRefused ? terms.answerWithoutHost() : try await answer(request, channel)
            // Of HTTP/1.0, a client that is not told expects the connection to end.
            if let persistence = request.headers[.connection], ["close", "keep-alive"].contains(persistence) {
                answer.fields[.connection] = persistence
            }
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
        let (decision, isInReserve) = places.withLock { places in
            (places.admit(client, channel, activity, now: now()), places.isInReserve)
        }
        switch decision {
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
        case .refused(let limit, let shouldLog):
            counts.refused(by: .connections)
            if shouldLog { logger.warning("\(terms.refusalLine)", metadata: ["limit": "\(limit)"]) }
            return nil
        }
    }
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
    /// Whether requests are answered on the event loop, which answering must not hold up then.
    package var isOnLoop = false
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
    /// The response to a request that names no host, or two.
    package var answerWithoutHost: @Sendable () -> HTTPAnswer = {
        HTTPAnswer(
            status: .badRequest,
            fields: [.contentType: "text/plain; charset=utf-8"],
            body: HostField.expectation + "\n"
        )
    }
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

/// Runs tasks on an event loop, so that what they do between two waits takes no other thread and no change of threads.
///
/// What runs here must not block or compute for long: everything else on the loop waits for it.
package final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
