import Foundation
import NIOCore
import NIOPosix

/// A client that sends bytes as a test writes them.
package final class RawConnection: Sendable {
    package struct Ended: Error {}

    private let channel: any Channel
    private let received: AsyncStream<String>

    package init(port: Int) async throws {
        let (received, arrivals) = AsyncStream.makeStream(of: String.self)
        self.received = received
        channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(arrivals: arrivals))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    /// Bytes that a server no longer accepts are not an error of the test.
    package func send(_ text: String) async {
        try? await channel.writeAndFlush(ByteBuffer(string: text))
    }

    package func send(_ bytes: [UInt8]) async {
        try? await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// Ends the sending side.
    package func finish() async {
        try? await channel.close(mode: .output)
    }

    package func close() async {
        try? await channel.close()
    }

    /// Returns the heads of the next `count` responses, none of which has a body. Throws if the connection ends before.
    package func heads(_ count: Int = 1) async throws -> [String] {
        var text = ""
        for await part in received {
            text += part
            let heads = text.components(separatedBy: "\r\n\r\n")
            if heads.count > count { return Array(heads.prefix(count)) }
        }
        throw Ended()
    }

    /// Returns the status of the next response.
    package func status() async throws -> Int {
        try await Int(heads()[0].split(separator: " ")[1]) ?? 0
    }

    /// Returns the next part. Throws if the connection ends before.
    package func part() async throws -> String {
        for await part in received { return part }
        throw Ended()
    }

    /// Returns everything until the server ends the connection.
    package func rest() async -> String {
        var text = ""
        for await part in received { text += part }
        return text
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        let arrivals: AsyncStream<String>.Continuation

        init(arrivals: AsyncStream<String>.Continuation) {
            self.arrivals = arrivals
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            arrivals.yield(String(buffer: unwrapInboundIn(data)))
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed { arrivals.finish() }
        }

        func channelInactive(context: ChannelHandlerContext) {
            arrivals.finish()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
