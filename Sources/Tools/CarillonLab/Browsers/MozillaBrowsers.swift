import Cipher
import Foundation
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Mozilla's push service (autopush) as Firefox uses it over a WebSocket: frames in, frames out.
///
/// A message waits until the browser has acknowledged it, even while the browser is disconnected.
struct MozillaBrowsers: Sendable {
    /// A frame from Firefox. `messageType` is missing in a ping, `{}`.
    private struct Frame: Decodable {
        struct Update: Decodable {
            var version: String
            var code: Int?
        }

        var messageType: String?
        var uaid: String?
        var channelID: String?
        var key: String?
        var updates: [Update]?
        var version: String?
        var code: Int?
    }

    /// A frame to Firefox.
    private struct Answer: Encodable {
        var messageType: String
        var uaid: String?
        var status: Int?
        var usesWebPush: Bool?
        var broadcasts: [String: String]?
        var channelID: String?
        var pushEndpoint: String?
        var version: String?
        var timeToLive: Int64?
        var data: String?
        var headers: [String: String]?

        private enum CodingKeys: String, CodingKey {
            case messageType, uaid, status, broadcasts, channelID, pushEndpoint, version, data, headers
            case usesWebPush = "use_webpush"
            case timeToLive = "ttl"
        }

        var bytes: [UInt8] { Array((jsonText() ?? "").utf8) }
    }

    private struct Channel {
        var browser: String
        var id: String
    }

    private struct Waiting {
        var version: String
        var frame: [UInt8]
    }

    private let random: RandomBytes
    /// The connection of each connected browser, by its name (`uaid`).
    private var connections: [String: Int] = [:]
    /// By subscription.
    private var channels: [String: Channel] = [:]
    /// Each browser's unacknowledged messages, oldest first.
    private var waiting: [String: [Waiting]] = [:]
    private var isForgetting = false
    /// How often browsers sent each code: 100 delivered, 101 not decrypted, 102 not delivered; 301 and 302 the page's
    /// worker failed.
    private(set) var codes: [Int: Int] = [:]

    init(random: @escaping RandomBytes) { self.random = random }

    /// The number of connected browsers.
    var connectionCount: Int { connections.count }

    /// The number of current subscriptions of browsers.
    var subscriptionCount: Int { channels.count }

    /// Processes a frame. `endpoint` makes a subscription's endpoint from its ID.
    mutating func receive(_ bytes: [UInt8], from connection: Int, endpoint: (String) -> String) -> [BrowserAction] {
        guard let frame = try? JSONDecoder().decode(Frame.self, from: Data(bytes)) else { return [.close(connection)] }
        switch (frame.messageType, frame.channelID) {
        case (nil, _), ("ping", _): return [.send(Array("{}".utf8), to: connection)]
        case ("hello", _): return hello(frame.uaid, connection)
        case ("register", let channel?): return register(channel, frame.key, connection, endpoint)
        case ("unregister", let channel?): return unregister(channel, connection)
        case ("ack", _):
            for update in frame.updates ?? [] { acknowledge(update.version, code: update.code, connection) }
            return []
        case ("nack", _):
            acknowledge(frame.version ?? "", code: frame.code, connection)
            return []
        // Broadcasts are not for pages.
        case ("broadcast_subscribe", _): return []
        default: return [.close(connection)]
        }
    }

    /// Removes a closed connection.
    mutating func disconnect(_ connection: Int) {
        connections = connections.filter { $0.value != connection }
    }

    /// Forwards a message; returns no action if the subscription is not a browser's.
    mutating func push(_ message: BrowserMessage) -> [BrowserAction] {
        guard let channel = channels[message.subscription] else { return [] }
        var answer = Answer(messageType: "notification")
        answer.channelID = channel.id
        answer.version = name()
        answer.timeToLive = message.timeToLive
        if !message.body.isEmpty {
            answer.data = Base64URL.encode(message.body)
            answer.headers = ["encoding": message.encoding ?? ""]
        }
        let next = Waiting(version: answer.version ?? "", frame: answer.bytes)
        waiting[channel.browser, default: []].append(next)
        return connections[channel.browser].map { [.send(next.frame, to: $0)] } ?? []
    }

    /// Forgets all browsers like the real service sometimes does: the next hello gets another name, so the browser
    /// drops its subscriptions and notifies their workers.
    mutating func forget() -> [BrowserAction] {
        isForgetting = true
        let ended = channels.keys.sorted().map(BrowserAction.expire)
        let closed = connections.values.sorted().map(BrowserAction.close)
        channels = [:]
        waiting = [:]
        return ended + closed
    }

    private mutating func hello(_ known: String?, _ connection: Int) -> [BrowserAction] {
        let browser = isForgetting ? name() : known ?? name()
        isForgetting = false
        connections[browser] = connection
        var answer = Answer(messageType: "hello")
        answer.uaid = browser
        answer.status = 200
        answer.usesWebPush = true
        answer.broadcasts = [:]
        return ([answer.bytes] + (waiting[browser] ?? []).map(\.frame)).map { .send($0, to: connection) }
    }

    private mutating func register(
        _ channel: String,
        _ key: String?,
        _ connection: Int,
        _ endpoint: (String) -> String
    ) -> [BrowserAction] {
        guard let browser = browser(connection) else { return [.close(connection)] }
        let id = Base64URL.encode(random(32))
        channels[id] = Channel(browser: browser, id: channel)
        var answer = Answer(messageType: "register")
        answer.status = 200
        answer.channelID = channel
        answer.pushEndpoint = endpoint(id)
        // Firefox pads the key; endpoints and tokens have none.
        let bare = key.map { String($0.prefix { $0 != "=" }) }
        return [.subscribe(id: id, key: bare), .send(answer.bytes, to: connection)]
    }

    private mutating func unregister(_ channel: String, _ connection: Int) -> [BrowserAction] {
        let ended = channels.filter { $0.value.id == channel && $0.value.browser == browser(connection) }.keys.sorted()
        for id in ended { channels[id] = nil }
        var answer = Answer(messageType: "unregister")
        answer.status = 200
        answer.channelID = channel
        return ended.map(BrowserAction.expire) + [.send(answer.bytes, to: connection)]
    }

    private mutating func acknowledge(_ version: String, code: Int?, _ connection: Int) {
        codes[code ?? 0, default: 0] += 1
        guard let browser = browser(connection) else { return }
        waiting[browser]?.removeAll { $0.version == version }
    }

    private func browser(_ connection: Int) -> String? { connections.first { $0.value == connection }?.key }

    private func name() -> String { Hex.encode(random(16)) }
}

/// The listener that Firefox connects to (`dom.push.serverURL`): a WebSocket without TLS.
struct FirefoxServer: LabServer {
    private static let frameLimit = 1 << 16

    let connections: Connections
    let browsers: Browsers

    var scheme: String { "ws" }

    func configure(_ handlers: ChannelPipeline.SynchronousOperations, number: Int) throws {
        let browsers = browsers
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: Self.frameLimit,
            shouldUpgrade: { channel, head in
                let offered = head.headers[canonicalForm: "sec-websocket-protocol"].contains("push-notification")
                let answer: HTTPHeaders = offered ? ["sec-websocket-protocol": "push-notification"] : [:]
                return channel.eventLoop.makeSucceededFuture(answer)
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOWebSocketFrameAggregator(
                            minNonFinalFragmentSize: 1,
                            maxAccumulatedFrameCount: 64,
                            maxAccumulatedFrameSize: Self.frameLimit
                        ),
                        FirefoxConnection(number: number, browsers: browsers)
                    )
                    browsers.connect(number, channel)
                }
            }
        )
        let upgrade: NIOHTTPServerUpgradeSendableConfiguration = (upgraders: [upgrader], completionHandler: { _ in })
        try handlers.configureHTTPServerPipeline(
            withPipeliningAssistance: false,
            withServerUpgrade: upgrade,
            withErrorHandling: true
        )
    }
}

/// One Firefox: texts in and out.
private final class FirefoxConnection: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = WebSocketFrame

    private let number: Int
    private let browsers: Browsers

    init(number: Int, browsers: Browsers) {
        self.number = number
        self.browsers = browsers
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: browsers.receive(mozilla: Array(buffer: frame.unmaskedData), from: number)
        case .ping: write(.pong, frame.unmaskedData, context)
        case .connectionClose:
            write(.connectionClose, frame.unmaskedData, context)
            context.close(promise: nil)
        default: break
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = WebSocketFrame(fin: true, opcode: .text, data: unwrapOutboundIn(data))
        context.write(wrapOutboundOut(frame), promise: promise)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: nil)
    }
}
