import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Nostr

/// A client of a relay or the router's socket (NIP-01).
struct RelayClient {
    /// The relay's response to an event.
    struct Answer {
        let isAccepted: Bool
        let message: String
    }

    private static let timeout = TimeAmount.seconds(10)
    private let name: String
    private var socket: WebSocket
    /// Events that were received and not read yet.
    private var inbox: [SubscriptionID: [Event]] = [:]

    /// `url` is `ws://host:port`; `name` is for error messages, as in "the router".
    init(url: String, name: String) async throws {
        guard let parts = URLComponents(string: url), parts.scheme == "ws", let host = parts.host, let port = parts.port
        else { throw DemoError("expected ws://host:port for \(name), found \(url)") }
        self.name = name
        do {
            socket = try await WebSocket(host: host, port: port)
        } catch {
            throw DemoError("cannot connect to \(name) at \(url): \(error)")
        }
    }

    /// Publishes an event and waits for the relay's response.
    mutating func publish(_ event: Event) async throws -> Answer {
        try await socket.send(ClientCommand.publish(event).json)
        while true {
            if case .ok(event.id, let isAccepted, let message) = try await receive() {
                return Answer(isAccepted: isAccepted, message: message)
            }
        }
    }

    /// Subscribes, and waits until the relay has sent its stored events.
    mutating func subscribe(_ name: String, to filter: Filter) async throws -> SubscriptionID {
        guard let subscription = SubscriptionID(name) else { throw DemoError("\(name) is not a valid subscription id") }
        try await socket.send(ClientCommand.request(subscription, [filter]).json)
        while true {
            switch try await receive() {
            case .endOfStoredEvents(subscription): return subscription
            case .closed(subscription, let reason): throw DemoError("\(self.name) closed a subscription: \(reason)")
            default: continue
            }
        }
    }

    /// The next event of a subscription, verified; nil if none arrives for `timeout`.
    mutating func next(of subscription: SubscriptionID, timeout: TimeAmount = timeout) async throws -> Event? {
        while true {
            if var events = inbox[subscription], !events.isEmpty {
                let event = events.removeFirst()
                inbox[subscription] = events
                return event
            }
            guard try await receiveNext(timeout) != nil else { return nil }
        }
    }

    private mutating func receive() async throws -> ReceivedRelayMessage {
        guard let message = try await receiveNext(Self.timeout) else {
            throw DemoError("\(name) did not answer within 10 seconds")
        }
        return message
    }

    /// The next message; nil if none arrives for `timeout`. Events go to the inbox.
    private mutating func receiveNext(_ timeout: TimeAmount) async throws -> ReceivedRelayMessage? {
        switch await socket.next(timeout: timeout) {
        case .silence: return nil
        case .end: throw DemoError("\(name) closed the connection")
        case .text(let text):
            let bytes = Array(text.utf8)
            let message = try bytes.withUnsafeBytes { try ReceivedRelayMessage($0) }
            if case .event(let subscription, let range) = message {
                let event = try Event(json: Array(bytes[range]))
                try event.verify()
                inbox[subscription, default: []].append(event)
            }
            return message
        }
    }

    /// Waits for a router's advertisement (kind 10067), from `router` if its key is known. A router publishes it soon
    /// after it starts.
    mutating func advertisement(of router: PublicKey? = nil) async throws -> Event {
        let filter = Filter(authors: router.map { [$0] }, kinds: [.notificationRelay])
        let subscription = try await subscribe("router", to: filter)
        guard let event = try await next(of: subscription) else {
            throw DemoError("the router does not advertise itself with a kind 10067")
        }
        return event
    }
}

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

    /// Connects to `host` and upgrades, or throws the error.
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

    /// Waits up to `timeout` for the next text.
    mutating func next(timeout: TimeAmount) async -> Reception {
        alarms += 1
        let (number, continuation) = (alarms, continuation)
        let alarm = channel.eventLoop.scheduleTask(in: timeout) { _ = continuation.yield(.alarm(number)) }
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
                    channel.eventLoop.makeFailedFuture(DemoError("\(host):\(port) does not support WebSocket"))
                }
            )
        )
        // A relay's greeting may come in one segment with its response to the upgrade.
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
