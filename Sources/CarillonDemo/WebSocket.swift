import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// A WebSocket client for short conversations.
struct WebSocket {
    /// The result of waiting for a text.
    enum Reception {
        case text(String)
        /// No text arrived in time.
        case silence
        /// The connection is closed.
        case end
    }

    fileprivate enum Item {
        case text(String)
        case alarm(Int)
    }

    private let channel: any Channel
    private let continuation: AsyncStream<Item>.Continuation
    private var items: AsyncStream<Item>.Iterator
    private var alarms = 0

    /// Connects to `host` and upgrades, or throws what went wrong.
    init(host: String, port: Int) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Item.self)
        self.continuation = continuation
        items = stream.makeAsyncIterator()
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

    /// Waits for the next text, at most for `patience`.
    mutating func next(patience: TimeAmount) async -> Reception {
        alarms += 1
        let (number, continuation) = (alarms, continuation)
        let alarm = channel.eventLoop.scheduleTask(in: patience) { _ = continuation.yield(.alarm(number)) }
        defer { alarm.cancel() }
        while let item = await items.next() {
            switch item {
            case .text(let text): return .text(text)
            case .alarm(number): return .silence
            // An alarm of an earlier call.
            case .alarm: continue
            }
        }
        return .end
    }

    private static func upgrade(
        _ channel: any Channel,
        host: String,
        port: Int,
        to continuation: AsyncStream<Item>.Continuation
    ) throws -> EventLoopFuture<any Channel> {
        let upgrader = NIOTypedWebSocketClientUpgrader<any Channel>(maxFrameSize: 1 << 20) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(TextReader(continuation))
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

/// Passes texts on and answers control frames (RFC 6455 section 5.5).
private final class TextReader: ChannelInboundHandler, Sendable {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame
    private let texts: AsyncStream<WebSocket.Item>.Continuation

    init(_ texts: AsyncStream<WebSocket.Item>.Continuation) {
        self.texts = texts
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: texts.yield(.text(String(buffer: frame.unmaskedData)))
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
