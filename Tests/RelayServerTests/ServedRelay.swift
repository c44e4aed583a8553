import Core
import Listeners
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Nostr
import Synchronization
import TimeTestSupport

@testable import RelayServer

/// A server on a port chosen by the system, for the duration of a test.
enum ServedRelay {
    static func run(
        _ backend: RecordingBackend = RecordingBackend(),
        site: StaticSite? = nil,
        limits: RelayServerConfiguration.Limits = RelayServerConfiguration.Limits(),
        counts: LimitCounts = LimitCounts(),
        isTrustedProxy: @escaping @Sendable (String) -> Bool = { _ in false },
        isBlocked: @escaping @Sendable (String) -> Bool = { _ in false },
        now: @escaping @Sendable () -> Timestamp = { 1_700_000_000_000 },
        _ body: (Int, RelayServer) async throws -> Void
    ) async throws {
        var configuration = RelayServerConfiguration()
        configuration.port = 0
        configuration.limits = limits
        configuration.site = site
        configuration.challenge = { "word" }
        configuration.isTrustedProxy = isTrustedProxy
        configuration.isBlocked = isBlocked
        configuration.counts = counts
        // On a busy machine a test may wait longer than a client may take.
        if limits.handshakeTimeout != .zero { configuration.limits.handshakeTimeout = .minutes(2) }
        let server = RelayServer(
            configuration: configuration,
            information: RelayInformation(
                name: "test",
                description: "a test",
                pubkey: String(repeating: "ab", count: 32),
                version: "1.0",
                limits: configuration.limits
            ),
            backend: backend,
            group: .singletonMultiThreadedEventLoopGroup,
            now: now,
            logger: Logger(label: "test")
        )
        let listener = try await server.start()
        try await body(listener.port, server)
        try await listener.close()
    }
}

/// Answers every event with the result of `answer`, immediately or when a test allows it.
final class RecordingBackend: RelayBackend {
    struct State {
        var events: [[UInt8]] = []
        /// The authenticated keys when events came, one entry per submission.
        var authenticated: [Set<PublicKey>] = []
        var held: [@Sendable () -> Void] = []
        var queries: [([Filter], Set<PublicKey>)] = []
    }

    let state = Mutex(State())
    private let holds: Bool
    private let stored: [[UInt8]]
    private let answer: @Sendable ([UInt8]) -> EventAnswer

    init(
        holds: Bool = false,
        stored: [[UInt8]] = [],
        answer: @escaping @Sendable ([UInt8]) -> EventAnswer = {
            EventAnswer(id: (try? Event(json: $0))?.id, accepted: true)
        }
    ) {
        self.holds = holds
        self.stored = stored
        self.answer = answer
    }

    func submit(
        _ events: [[UInt8]],
        authenticated: Set<PublicKey>,
        client: String?,
        completion: @escaping @Sendable ([EventAnswer]) -> Void
    ) {
        let answers = events.map(answer)
        state.withLock {
            $0.events += events
            $0.authenticated.append(authenticated)
            if holds { $0.held.append { completion(answers) } }
        }
        if !holds { completion(answers) }
    }

    func storedEvents(matching filters: [Filter], authenticated: Set<PublicKey>) async -> [[UInt8]] {
        state.withLock { $0.queries.append((filters, authenticated)) }
        return stored
    }
}

/// A WebSocket client built from NIO's own parts, to test the server with a common client.
struct WebSocketClient {
    /// A message of the server: a text, or the status of its close.
    enum Received: Equatable {
        case text(String)
        case closed(UInt16)
    }

    private let channel: any Channel
    private var incoming: AsyncStream<Received>.Iterator

    init(port: Int, forwardedFor: String? = nil) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Received.self)
        incoming = stream.makeAsyncIterator()
        let upgraded: EventLoopFuture<any Channel> = try await ClientBootstrap(
            group: .singletonMultiThreadedEventLoopGroup
        )
        .connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(
                    maxFrameSize: 1 << 22,
                    upgradePipelineHandler: { channel, _ in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandler(FrameReader(continuation: continuation))
                            return channel
                        }
                    }
                )
                var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
                head.headers.add(name: "host", value: "127.0.0.1")
                if let forwardedFor { head.headers.add(name: "x-forwarded-for", value: forwardedFor) }
                var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
                    upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                        upgradeRequestHead: head,
                        upgraders: [upgrader],
                        notUpgradingCompletionHandler: { channel in
                            channel.eventLoop.makeFailedFuture(ChannelError.inappropriateOperationForState)
                        }
                    )
                )
                // The greeting may come in one segment with the answer to the upgrade.
                configuration.leftOverBytesStrategy = .forwardBytes
                return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
                    configuration: configuration
                )
            }
        }
        channel = try await upgraded.get()
    }

    /// Sends a text message, masked as a client must, in one frame.
    func send(_ text: String) async throws {
        try await send(opcode: .text, bytes: Array(text.utf8))
    }

    func send(opcode: WebSocketOpcode, bytes: [UInt8], fin: Bool = true) async throws {
        let frame = WebSocketFrame(fin: fin, opcode: opcode, maskKey: .random(), data: ByteBuffer(bytes: bytes))
        try await channel.writeAndFlush(frame)
    }

    /// Sends a frame as it is.
    func send(_ frame: WebSocketFrame) async throws {
        try await channel.writeAndFlush(frame)
    }

    /// Stops or resumes reading from the socket.
    func reads(_ reads: Bool) async throws {
        try await channel.setOption(.autoRead, value: reads).get()
    }

    /// Completes when the connection has ended.
    func ended() async throws {
        try await channel.closeFuture.get()
    }

    mutating func next() async -> Received? {
        await incoming.next()
    }

    /// The next message; "" when the server closed instead.
    mutating func nextText() async -> String {
        guard case .text(let text)? = await next() else { return "" }
        return text
    }

    func close() async throws {
        try await channel.close()
    }
}

private final class FrameReader: ChannelInboundHandler, Sendable {
    typealias InboundIn = WebSocketFrame
    private let continuation: AsyncStream<WebSocketClient.Received>.Continuation

    init(continuation: AsyncStream<WebSocketClient.Received>.Continuation) {
        self.continuation = continuation
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        var payload = frame.unmaskedData
        switch frame.opcode {
        case .text: continuation.yield(.text(String(buffer: payload)))
        case .connectionClose: continuation.yield(.closed(payload.readInteger() ?? 0))
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        continuation.finish()
    }
}
