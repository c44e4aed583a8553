import CommandTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Nostr
import Testing

/// A WebSocket server on loopback that a test controls, including violations of the protocol.
struct ScriptedRelay {
    /// An action of a client.
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

    /// `onText` returns the responses to each text message, `greeting` is sent immediately. With `mute` it answers no
    /// pings.
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

    /// Sends a frame to the latest client.
    func send(_ frame: WebSocketFrame) async throws {
        try await clients.withLockedValue(\.last)?.writeAndFlush(frame)
    }

    func send(_ text: String) async throws {
        try await send(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)))
    }

    /// Stops or resumes reading from the client.
    func reads(_ reads: Bool) async throws {
        try await clients.withLockedValue(\.last)?.setOption(.autoRead, value: reads).get()
    }

    /// Drops the connection of the latest client without a close.
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

/// The responses of a well-behaved relay, for ``ScriptedRelay``.
enum RelayScript {
    /// Responds to a REQ with `events` and EOSE, and to an EVENT with OK.
    static func answer(_ text: String, events: [Event] = []) -> [String] {
        guard let message = try? ClientMessage(text) else { return [] }
        switch message {
        case .request(let subscription, _):
            return events.map { self.event($0, on: subscription.name) } + ["[\"EOSE\",\"\(subscription.name)\"]"]
        case .event(let range):
            guard let event = try? Event(json: Array(Array(text.utf8)[range])) else { return [] }
            return ["[\"OK\",\"\(event.id.hex)\",true,\"\"]"]
        default:
            return []
        }
    }

    static func event(_ event: Event, on subscription: String) -> String {
        "[\"EVENT\",\"\(subscription)\",\(String(decoding: event.json, as: UTF8.self))]"
    }
}

extension ClientMessage {
    init(_ text: String) throws {
        var text = text
        self = try text.withUTF8 { try ClientMessage(UnsafeRawBufferPointer($0)) }
    }
}

extension ScriptedRelay {
    /// The next REQ: its subscription and filters.
    mutating func nextRequest() async -> (subscription: String, filters: [Filter])? {
        while let received = await next() {
            guard case .text(let text) = received, let message = try? ClientMessage(text),
                case .request(let subscription, let filters) = message
            else { continue }
            return (subscription.name, filters)
        }
        return nil
    }
}

/// A TCP server on loopback that sends one message, or none, on connection, and may then hang up.
struct BareServer {
    let port: Int
    private let channel: any Channel

    init(says bytes: String = "", hangsUp: Bool = false) async throws {
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Speaker(bytes, hangsUp: hangsUp))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func close() async throws {
        try await channel.close()
    }
}

private final class Speaker: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let bytes: String
    private let hangsUp: Bool

    init(_ bytes: String, hangsUp: Bool) {
        self.bytes = bytes
        self.hangsUp = hangsUp
    }

    func channelActive(context: ChannelHandlerContext) {
        if !bytes.isEmpty { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: bytes)), promise: nil) }
        if hangsUp { context.close(promise: nil) }
    }
}

extension TestCertificate {
    /// The TLS configuration of a server that presents it.
    var server: NIOSSLContext {
        get throws {
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMFile(certificateFile).map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(file: keyFile, format: .pem))
                )
            )
        }
    }
}
