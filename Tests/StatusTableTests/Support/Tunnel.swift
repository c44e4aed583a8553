import NIOCore
import NIOPosix

/// An HTTP proxy that connects every CONNECT (RFC 9110 section 9.3.6) to one port on loopback, whatever its target. So
/// push services are reached by their real names.
final class Tunnel: Sendable {
    /// `http://127.0.0.1:PORT`
    let url: String
    private let channel: any Channel

    init(to port: Int) async throws {
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Entrance(to: port))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    func close() async { try? await channel.close() }

    private final class Entrance: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let port: Int
        private var head = ""
        private var far: (any Channel)?

        init(to port: Int) {
            self.port = port
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            if let far { return far.writeAndFlush(bytes, promise: nil) }
            head += String(buffer: bytes)
            // A client waits for the response before it sends more.
            if head.hasSuffix("\r\n\r\n") { lead(context) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            far?.close(promise: nil)
        }

        private func lead(_ context: ChannelHandlerContext) {
            let near = context.channel
            let me = NIOLoopBound(self, eventLoop: context.eventLoop)
            ClientBootstrap(group: context.eventLoop)
                .channelInitializer { far in
                    far.eventLoop.makeCompletedFuture {
                        try far.pipeline.syncOperations.addHandler(Exit(to: near))
                    }
                }
                .connect(host: "127.0.0.1", port: port)
                .whenComplete { result in
                    guard case .success(let far) = result else { return near.close(promise: nil) }
                    me.value.far = far
                    near.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"), promise: nil)
                }
        }
    }

    private final class Exit: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let near: any Channel

        init(to near: any Channel) {
            self.near = near
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            near.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            near.close(promise: nil)
        }
    }
}
