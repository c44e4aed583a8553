import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A server on the loopback that answers every request with the same bytes, and sends more on request.
final class TalkativeServer: Sendable {
    let port: Int
    private let listener: any Channel
    private let channels = NIOLockedValueBox<[any Channel]>([])

    init(answer: String) async throws {
        let channels = channels
        listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    channels.withLockedValue { $0.append(channel) }
                    try channel.pipeline.syncOperations.addHandler(Handler(answer: answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    /// The number of opened connections.
    var connections: Int { channels.withLockedValue { $0.count } }

    /// Sends `text` on every open connection; returns when the client's system has received it.
    func say(_ text: String) async throws {
        for channel in channels.withLockedValue({ $0 }) where channel.isActive {
            try await channel.writeAndFlush(ByteBuffer(string: text))
        }
    }

    func stop() async {
        try? await listener.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: String
        private var request = ""

        init(answer: String) {
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            request += String(buffer: unwrapInboundIn(data))
            guard request.contains("\r\n\r\n") else { return }
            request = ""
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
