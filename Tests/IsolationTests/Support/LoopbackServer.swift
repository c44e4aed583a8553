import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// An HTTP/1.1 server on every address of the loopback that answers each request with one status, or never.
final class LoopbackServer: Sendable {
    private struct State {
        var open = 0
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    let port: Int
    private let channel: any Channel
    private let state = NIOLockedValueBox(State())

    /// With a nil `status`, the server never responds.
    init(status: Int?) async throws {
        let state = state
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 1_024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(status: status))
                    let ready = state.withLockedValue { state in
                        state.open += 1
                        let ready = state.waiters.filter { $0.count <= state.open }
                        state.waiters.removeAll { $0.count <= state.open }
                        return ready
                    }
                    for waiter in ready { waiter.continuation.resume() }
                    channel.closeFuture.whenComplete { _ in state.withLockedValue { $0.open -= 1 } }
                }
            }
            .bind(host: "0.0.0.0", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    /// Waits until `count` clients are connected.
    func connections(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLockedValue { state in
                if state.open >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func stop() async {
        try? await channel.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let status: Int?
        private var head = ""

        init(status: Int?) {
            self.status = status
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let status else { return }
            head += String(buffer: unwrapInboundIn(data))
            while let end = head.range(of: "\r\n\r\n") {
                head.removeSubrange(..<end.upperBound)
                let answer = ByteBuffer(string: "HTTP/1.1 \(status) So\r\ncontent-length: 0\r\n\r\n")
                context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
