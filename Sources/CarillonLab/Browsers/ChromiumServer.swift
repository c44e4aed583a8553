import NIOCore
import NIOSSL

/// The listener that Chromium's push connection goes to (`--gcm-mcs-endpoint`), over TLS.
struct ChromiumServer: LabServer {
    let connections: Connections
    let tls: NIOSSLContext
    let browsers: Browsers

    var scheme: String { "https" }

    func configure(_ handlers: ChannelPipeline.SynchronousOperations, number: Int) throws {
        try handlers.addHandlers(
            NIOSSLServerHandler(context: tls),
            ChromiumConnection(number: number, browsers: browsers)
        )
    }
}

/// One push connection of a Chromium: frames in and out.
private final class ChromiumConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let number: Int
    private let browsers: Browsers
    private var reader = MCSReader()

    init(number: Int, browsers: Browsers) {
        self.number = number
        self.browsers = browsers
    }

    func channelActive(context: ChannelHandlerContext) {
        browsers.connect(number, context.channel)
        let greeting = context.channel.allocator.buffer(bytes: [MCSReader.version])
        context.writeAndFlush(wrapOutboundOut(greeting), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            for frame in try reader.read(unwrapInboundIn(data).readableBytesView) {
                browsers.receive(google: frame, from: number)
            }
        } catch {
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
