import NIOCore
import NIOPosix

/// A TCP server on loopback that says one thing when it is connected to, or nothing, and hangs up or not.
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
