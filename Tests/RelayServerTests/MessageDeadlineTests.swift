import NIOCore
import NIOEmbedded
import Testing

@testable import RelayServer

/// Time is the embedded loop's: no test waits.
@Suite struct MessageDeadlineTests {
    private final class Decoder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let progress: MessageDeadline.Progress
        var late = 0

        init(_ progress: MessageDeadline.Progress) { self.progress = progress }

        /// A message ends with a full stop.
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if unwrapInboundIn(data).readableBytesView.contains(UInt8(ascii: ".")) { progress.messageIsComplete() }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is MessageDeadline.Passed { late += 1 }
        }
    }

    private func channel(_ body: (EmbeddedChannel, Decoder) throws -> Void) throws {
        let progress = MessageDeadline.Progress()
        let decoder = Decoder(progress)
        let channel = EmbeddedChannel(
            handlers: [MessageDeadline(patience: .seconds(60), progress: progress), decoder]
        )
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try body(channel, decoder)
        _ = try channel.finish()
    }

    @Test func bytesNowAndThenDoNotMakeAMessage() throws {
        try channel { channel, decoder in
            for _ in 0..<59 {
                try channel.writeInbound(ByteBuffer(string: "a"))
                channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            }
            #expect(decoder.late == 0)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            #expect(decoder.late == 1)
            // Whoever was not listened to then is told again.
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            #expect(decoder.late == 2)
        }
    }

    @Test func aMessageEndsTheWait() throws {
        try channel { channel, decoder in
            for _ in 0..<10 {
                try channel.writeInbound(ByteBuffer(string: "a"))
                channel.embeddedEventLoop.advanceTime(by: .seconds(40))
                try channel.writeInbound(ByteBuffer(string: "."))
                channel.embeddedEventLoop.advanceTime(by: .seconds(400))
            }
            #expect(decoder.late == 0)
        }
    }
}
