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

        /// A message ends with a full stop and its parts with a comma; an exclamation mark is a ping.
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            for byte in unwrapInboundIn(data).readableBytesView {
                switch byte {
                case UInt8(ascii: "."): progress.messageIsComplete()
                case UInt8(ascii: ","): progress.fragmentIsComplete()
                case UInt8(ascii: "!"): progress.controlFrameIsComplete()
                default: break
                }
            }
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

    @Test(arguments: ["!", "a,", "!a,", "a,!"])
    func whatComesBetweenTheFirstPartAndTheLastEndsNoWait(further: String) throws {
        try channel { channel, decoder in
            try channel.writeInbound(ByteBuffer(string: "a,"))
            for _ in 0..<2 {
                channel.embeddedEventLoop.advanceTime(by: .seconds(20))
                try channel.writeInbound(ByteBuffer(string: further))
            }
            #expect(decoder.late == 0)
            channel.embeddedEventLoop.advanceTime(by: .seconds(20))
            #expect(decoder.late == 1)
        }
    }

    @Test(arguments: [["!"], ["a", "!"], ["a.", "a", "!"], ["a,", "!", "a.!"]])
    func afterAPingNothingIsWaitedFor(pieces: [String]) throws {
        try channel { channel, decoder in
            for piece in pieces { try channel.writeInbound(ByteBuffer(string: piece)) }
            channel.embeddedEventLoop.advanceTime(by: .seconds(400))
            #expect(decoder.late == 0)
        }
    }

    @Test func aPartBehindAMessageBeginsAWaitOfItsOwn() throws {
        try channel { channel, decoder in
            try channel.writeInbound(ByteBuffer(string: "a"))
            channel.embeddedEventLoop.advanceTime(by: .seconds(40))
            try channel.writeInbound(ByteBuffer(string: ".a,"))
            channel.embeddedEventLoop.advanceTime(by: .seconds(59))
            #expect(decoder.late == 0)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            #expect(decoder.late == 1)
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
