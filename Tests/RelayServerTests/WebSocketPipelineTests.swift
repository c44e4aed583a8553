import Core
import Listeners
import Logging
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing
import TimeTestSupport

@testable import RelayServer

/// The handlers of a connection, fed with a client's bytes. Time is the embedded loop's: no test waits.
@Suite struct WebSocketPipelineTests {
    private static let policyViolation: [UInt8] = [0x88, 2, 0x03, 0xF0]

    private func channel(_ limits: RelayServerConfiguration.Limits) throws -> EmbeddedChannel {
        let now: Timestamp = 1_700_000_000_000
        let authentication = ClientAuthentication(url: "", challenge: "word")
        let handler = WebSocketHandler(
            connection: RelayConnection(limits: limits, authentication, now: now),
            backend: RecordingBackend(),
            audience: LiveAudience(logger: Logger(label: "test")),
            activity: SocketActivity(now: now),
            now: { now }
        )
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(
            MessageDeadline(timeout: TimeAmount(limits.messageTimeout), progress: handler.progress),
            WebSocketFrameEncoder(),
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: limits.messageBytes.bytes))
        )
        try channel.pipeline.syncOperations.addHandlers(
            FrameRules.handlers(for: .client, fragments: 1_024, messageBytes: limits.messageBytes.bytes)
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    /// A frame from a client; a mask of zeros changes nothing.
    private func frame(_ opcode: WebSocketOpcode, _ text: String, fin: Bool = true) -> ByteBuffer {
        var buffer = ByteBuffer(bytes: [(fin ? 0x80 : 0) | UInt8(webSocketOpcode: opcode)])
        buffer.writeBytes([0x80 | UInt8(text.utf8.count), 0, 0, 0, 0])
        buffer.writeString(text)
        return buffer
    }

    /// All bytes that the client got.
    private func sent(_ channel: EmbeddedChannel) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += buffer.readableBytesView }
        return bytes
    }

    @Test func pingsDoNotExtendAnOpenMessage() throws {
        var limits = RelayServerConfiguration.Limits()
        limits.messageTimeout = .seconds(60)
        let channel = try channel(limits)
        try channel.writeInbound(frame(.text, "[", fin: false))
        for _ in 0..<2 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(20))
            try channel.writeInbound(frame(.ping, "here"))
        }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(20))
        #expect(!channel.isActive)
        #expect(try sent(channel).suffix(4) == Self.policyViolation)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func idleClientThatPingsStaysConnected() throws {
        let channel = try channel(RelayServerConfiguration.Limits())
        for _ in 0..<10 {
            let ping = frame(.ping, "here")
            try channel.writeInbound(ping.getSlice(at: 0, length: 3))
            try channel.writeInbound(ping.getSlice(at: 3, length: ping.readableBytes - 3))
            channel.embeddedEventLoop.advanceTime(by: .seconds(100))
        }
        #expect(channel.isActive)
        #expect(try sent(channel).suffix(6) == [0x8A, 4] + Array("here".utf8))
        _ = try channel.finish()
    }

    @Test(arguments: [(WebSocketOpcode.ping, true), (.pong, true), (.text, false)])
    func clientThatSendsTooManyFramesIsDisconnected(opcode: WebSocketOpcode, fin: Bool) throws {
        var limits = RelayServerConfiguration.Limits()
        limits.burst = 2
        limits.messagesPerSecond = 0
        let channel = try channel(limits)
        for count in 0..<10 {
            let isFurther = count > 0 && opcode == .text
            try channel.writeInbound(frame(isFurther ? .continuation : opcode, "", fin: fin))
        }
        #expect(channel.isActive)
        try channel.writeInbound(frame(opcode == .text ? .continuation : opcode, "", fin: fin))
        #expect(!channel.isActive)
        #expect(try sent(channel).suffix(4) == Self.policyViolation)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}

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
        let channel = EmbeddedChannel(handlers: [MessageDeadline(timeout: .seconds(60), progress: progress), decoder])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try body(channel, decoder)
        _ = try channel.finish()
    }

    @Test func slowBytesDoNotExtendAMessage() throws {
        try channel { channel, decoder in
            for _ in 0..<59 {
                try channel.writeInbound(ByteBuffer(string: "a"))
                channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            }
            #expect(decoder.late == 0)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            #expect(decoder.late == 1)
            // A client that was ignored until then gets the message again.
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            #expect(decoder.late == 2)
        }
    }

    @Test(arguments: ["!", "a,", "!a,", "a,!"])
    func framesWithinAMessageDoNotResetItsTimeout(further: String) throws {
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
    func pingStartsNoMessageTimeout(pieces: [String]) throws {
        try channel { channel, decoder in
            for piece in pieces { try channel.writeInbound(ByteBuffer(string: piece)) }
            channel.embeddedEventLoop.advanceTime(by: .seconds(400))
            #expect(decoder.late == 0)
        }
    }

    @Test func partAfterAMessageStartsItsOwnTimeout() throws {
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

    @Test func completeMessageEndsTheTimeout() throws {
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
