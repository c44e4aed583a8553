import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// A WebSocket client for short conversations.
struct WebSocket {
    private let channel: any Channel
    private var texts: AsyncStream<String>.Iterator

    /// Connects to `host` and upgrades, or throws what went wrong.
    init(host: String, port: Int) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        texts = stream.makeAsyncIterator()
        let upgrade: EventLoopFuture<any Channel> = try await ClientBootstrap(
            group: .singletonMultiThreadedEventLoopGroup
        )
        .connectTimeout(.seconds(5))
        .connect(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try Self.upgrade(channel, host: host, port: port, to: continuation)
            }
        }
        channel = try await upgrade.get()
    }

    func send(_ text: [UInt8]) async throws {
        try await channel.writeAndFlush(
            WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(bytes: text))
        )
    }

    /// The next text; nil once the connection is closed, which it is when none came for `patience`.
    mutating func next(patience: TimeAmount) async -> String? {
        let channel = channel
        let alarm = channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
        defer { alarm.cancel() }
        return await texts.next()
    }

    private static func upgrade(
        _ channel: any Channel,
        host: String,
        port: Int,
        to texts: AsyncStream<String>.Continuation
    ) throws -> EventLoopFuture<any Channel> {
        let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(maxFrameSize: 1 << 20) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(TextReader(texts: texts))
                return channel
            }
        }
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
        head.headers.add(name: "host", value: "\(host):\(port)")
        var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
            upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                upgradeRequestHead: head,
                upgraders: [upgrader],
                notUpgradingCompletionHandler: { channel in
                    channel.eventLoop.makeFailedFuture(DemoError("\(host):\(port) speaks no WebSocket"))
                }
            )
        )
        // A relay's greeting may come in one segment with its answer to the upgrade.
        configuration.leftOverBytesStrategy = .forwardBytes
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: configuration)
    }
}

/// Hands texts on, and answers what WebSocket itself asks (RFC 6455 section 5.5).
private final class TextReader: ChannelInboundHandler, Sendable {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame
    private let texts: AsyncStream<String>.Continuation

    init(texts: AsyncStream<String>.Continuation) {
        self.texts = texts
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: texts.yield(String(buffer: frame.unmaskedData))
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose: context.close(promise: nil)
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        texts.finish()
    }
}
