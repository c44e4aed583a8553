import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// A WebSocket server on loopback that does what a test tells it to, also what no relay should.
struct ScriptedRelay {
    /// What a client did.
    enum Received: Equatable {
        case connected
        case text(String)
        case ping
        case pong(String)
        case closed(UInt16)
        case ended
    }

    let port: Int
    private let channel: any Channel
    private let clients: NIOLockedValueBox<[any Channel]>
    private var incoming: AsyncStream<Received>.Iterator

    /// `onText` is asked for an answer to each text message, `greeting` is sent at once. Answers no pings if it is
    /// `mute`.
    init(
        host: String = "127.0.0.1",
        tls: NIOSSLContext? = nil,
        greeting: [String] = [],
        mute: Bool = false,
        onText: @escaping @Sendable (String) -> [String] = { _ in [] }
    ) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Received.self)
        let clients = NIOLockedValueBox<[any Channel]>([])
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                let upgrader = NIOWebSocketServerUpgrader(
                    maxFrameSize: 1 << 24,
                    shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
                    upgradePipelineHandler: { channel, _ in
                        clients.withLockedValue { $0.append(channel) }
                        let script = Script(continuation, greeting: greeting, isMute: mute, onText: onText)
                        return channel.pipeline.addHandler(script)
                    }
                )
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.configureHTTPServerPipeline(
                        withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in })
                    )
                }
            }
            .bind(host: host, port: 0).get()
        port = channel.localAddress?.port ?? 0
        self.clients = clients
        incoming = stream.makeAsyncIterator()
    }

    mutating func next() async -> Received? {
        await incoming.next()
    }

    /// Sends a frame to the client that came last.
    func send(_ frame: WebSocketFrame) async throws {
        try await clients.withLockedValue(\.last)?.writeAndFlush(frame)
    }

    func send(_ text: String) async throws {
        try await send(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)))
    }

    /// Leaves what the client sends in the socket, or reads on.
    func reads(_ reads: Bool) async throws {
        try await clients.withLockedValue(\.last)?.setOption(.autoRead, value: reads).get()
    }

    /// Ends the connection of the client that came last, without taking leave.
    func hangUp() async throws {
        try await clients.withLockedValue(\.last)?.close()
    }

    func close() async throws {
        try await channel.close()
        for client in clients.withLockedValue({ $0 }) where client.isActive { try? await client.close() }
    }
}

private final class Script: ChannelInboundHandler, Sendable {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let continuation: AsyncStream<ScriptedRelay.Received>.Continuation
    private let greeting: [String]
    private let isMute: Bool
    private let onText: @Sendable (String) -> [String]

    init(
        _ continuation: AsyncStream<ScriptedRelay.Received>.Continuation,
        greeting: [String],
        isMute: Bool,
        onText: @escaping @Sendable (String) -> [String]
    ) {
        self.continuation = continuation
        self.greeting = greeting
        self.isMute = isMute
        self.onText = onText
    }

    func handlerAdded(context: ChannelHandlerContext) {
        continuation.yield(.connected)
        send(greeting, context: context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        var payload = frame.unmaskedData
        switch frame.opcode {
        case .text:
            let text = String(buffer: payload)
            continuation.yield(.text(text))
            send(onText(text), context: context)
        case .ping:
            continuation.yield(.ping)
            guard !isMute else { break }
            context.writeAndFlush(
                wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, data: payload)),
                promise: nil
            )
        case .pong:
            continuation.yield(.pong(String(buffer: payload)))
        case .connectionClose:
            continuation.yield(.closed(payload.readInteger() ?? 0))
            guard !isMute else { break }
            context.close(promise: nil)
        default:
            break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        continuation.yield(.ended)
    }

    private func send(_ texts: [String], context: ChannelHandlerContext) {
        for text in texts {
            let frame = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text))
            context.write(wrapOutboundOut(frame), promise: nil)
        }
        if !texts.isEmpty { context.flush() }
    }
}
