import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// An HTTP proxy on the loopback that supports only CONNECT, and connects to a configured target instead of the
/// requested one.
final class TunnelServer: Sendable {
    enum Manner: Sendable {
        /// Connects to a port of the loopback.
        case leads(to: Int)
        case says(String)
        case isSilent
    }

    let port: Int
    private let channel: any Channel
    private let seen = NIOLockedValueBox<[String]>([])
    private let open = NIOLockedValueBox(0)

    init(_ manner: Manner) async throws {
        let (seen, open) = (seen, open)
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    open.withLockedValue { $0 += 1 }
                    channel.closeFuture.whenComplete { _ in open.withLockedValue { $0 -= 1 } }
                    try channel.pipeline.syncOperations.addHandler(Handler(manner, seen: seen))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    /// The heads of the received requests.
    var heads: [String] { seen.withLockedValue { $0 } }
    var connections: Int { open.withLockedValue { $0 } }

    func stop() async {
        try? await channel.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let manner: Manner
        private let seen: NIOLockedValueBox<[String]>
        private var head = ""
        private var isTunnel = false
        private var peer: (any Channel)?
        private var early: [ByteBuffer] = []

        init(_ manner: Manner, seen: NIOLockedValueBox<[String]>) {
            self.manner = manner
            self.seen = seen
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            if isTunnel {
                if let peer { peer.writeAndFlush(bytes, promise: nil) } else { early.append(bytes) }
                return
            }
            head += String(buffer: bytes)
            guard head.hasSuffix("\r\n\r\n") else { return }
            seen.withLockedValue { $0.append(head) }
            isTunnel = true
            switch manner {
            case .isSilent: break
            case .says(let answer): context.channel.writeAndFlush(ByteBuffer(string: answer), promise: nil)
            case .leads(let port): lead(to: port, context)
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            peer?.close(promise: nil)
        }

        private func lead(to port: Int, _ context: ChannelHandlerContext) {
            let near = context.channel
            let me = NIOLoopBound(self, eventLoop: context.eventLoop)
            ClientBootstrap(group: context.eventLoop)
                .channelInitializer { far in
                    far.eventLoop.makeCompletedFuture {
                        try far.pipeline.syncOperations.addHandler(Forwarder(near))
                    }
                }
                .connect(host: "127.0.0.1", port: port)
                .whenComplete { result in
                    guard case .success(let far) = result else { return near.close(promise: nil) }
                    me.value.peer = far
                    near.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"), promise: nil)
                    for bytes in me.value.early { far.writeAndFlush(bytes, promise: nil) }
                }
        }
    }

    private final class Forwarder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let near: any Channel

        init(_ near: any Channel) {
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
