import Core
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// An HTTP/1.1 server that limits connections, and closes those of clients that are too slow or do not read responses.
package final class HTTPServer: Sendable {
    /// Answers a request. An error closes the connection.
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
    private let places: Mutex<ConnectionSlots<any Channel>>
    private let running = Mutex<Running?>(nil)

    /// - Parameters:
    ///   - terms: The address and the limits for one client.
    ///   - loop: The caller's event loop.
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
            ConnectionSlots(
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

    /// Starts listening and returns the port; 0 for a Unix socket. Throws a `ListenError` if the address is not
    /// available.
    package func start() async throws -> Int {
        let (ports, port) = AsyncThrowingStream.makeStream(of: Int.self)
        let server = Server(
            childChannelSetup: HeadChecking(
                base: HTTP1Channel(responder: respond, configuration: channelConfiguration)
            ),
            configuration: ServerConfiguration(address: terms.place.address, backlog: 1024),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) },
            eventLoopGroup: loop,
            // Hummingbird's log would contain requests, including tokens.
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

    /// Stops listening immediately. Requests in progress may take up to `timeout`; then their connections are closed.
    package func stop(within timeout: Duration) async {
        guard let running = running.withLock({ $0.take() }) else { return }
        let timeoutTask = loop.scheduleTask(in: TimeAmount(timeout)) { running.task.cancel() }
        try? await running.server.shutdownGracefully()
        await running.task.value
        timeoutTask.cancel()
    }

    private var respond: HTTPChannelHandler.Responder {
        { [answer, terms] request, writer, channel in
            let isRefused = HeadChecking.refuses(request)
            var answer = isRefused ? terms.answerWithoutHost() : try await answer(request, channel)
            // HTTP/1.0 clients expect the connection to close unless the response says otherwise.
            if let persistence = request.headers[.connection], ["close", "keep-alive"].contains(persistence) {
                answer.fields[.connection] = persistence
            }
            switch answer.body {
            case .live(let body) where request.method == .head:
                body.end()
                try await writer.writeResponse(answer.head)
            case .live(let body):
                defer { body.end() }
                // A reader that waits for the next part does not notice that the client has gone.
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
                self.keeper(), UnreadAnswersGuard(timeout: TimeAmount(self.terms.idleTimeout)), ContinueHandler(),
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

/// The address of an HTTP server.
package enum ListeningPlace: Sendable {
    /// An address of this machine; port 0 lets the system choose.
    case network(host: String, port: Int)
    /// A Unix socket for programs on this machine. An existing one is replaced.
    case file(String)

    fileprivate var address: BindAddress {
        switch self {
        case .network(let host, let port): .hostname(host, port: port)
        case .file(let path): .unixDomainSocket(path: path)
        }
    }
}

/// The address of an HTTP server, and its limits for one client.
package struct HTTPListeningTerms: Sendable {
    package let place: ListeningPlace
    /// The maximum of concurrent connections. A new one above it replaces the longest-silent one; it is closed if all
    /// others have a request in progress.
    package let connections: Int
    /// The same from one address. Trusted proxies and this machine have no such limit.
    package let connectionsPerAddress: Int
    /// Extra connections for requests that may use them, while all others have a request in progress.
    package var reserve = 0
    /// Whether requests are answered on the event loop, so that handlers must not block it.
    package var isOnLoop = false
    /// Whether a request for this path may use the reserve; others get 503.
    package var mayUseReserve: @Sendable (_ path: String) -> Bool = { _ in false }
    /// The longest request line and header.
    package let headerBytes: ByteCount
    /// Timeout for an idle connection, for a header, and for a client that does not read a response.
    package let idleTimeout: Duration
    /// Timeout for the end of a connection's first header.
    package var headTimeout: Duration = .seconds(10)
    /// Whether an address belongs to a proxy, which stands for many clients.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// The response to a request with no Host field, or with two.
    package var answerWithoutHost: @Sendable () -> HTTPAnswer = {
        HTTPAnswer(
            status: .badRequest,
            fields: [.contentType: "text/plain; charset=utf-8"],
            body: HostField.expectation + "\n"
        )
    }
    /// The rate-limited log message for a refused connection.
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

/// Runs tasks on an event loop, so that their work between two suspensions needs no other thread and no thread switch.
///
/// Tasks on it must not block or compute for long, because they delay everything else on the loop.
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
