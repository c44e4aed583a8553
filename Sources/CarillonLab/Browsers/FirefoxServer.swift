import NIOCore
import NIOHTTP1
import NIOWebSocket

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
