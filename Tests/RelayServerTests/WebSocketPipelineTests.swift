import Listening
import Logging
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing
import TimeTestSupport
import Units
import WebSocketFrames

@testable import RelayServer

/// The handlers of a connection, fed with a client's bytes. Time is the embedded loop's: no test waits.
@Suite struct WebSocketPipelineTests {
    private static let policyViolation: [UInt8] = [0x88, 2, 0x03, 0xF0]

    private func channel(_ limits: RelayServerConfiguration.Limits) throws -> EmbeddedChannel {
        let progress = MessageDeadline.Progress()
        let now: Timestamp = 1_700_000_000_000
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(
            MessageDeadline(patience: TimeAmount(limits.messageTimeout), progress: progress),
            WebSocketFrameEncoder(),
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: limits.messageBytes.bytes))
        )
        try channel.pipeline.syncOperations.addHandlers(
            FrameRules.handlers(for: .client, fragments: 1_024, messageBytes: limits.messageBytes.bytes)
        )
        try channel.pipeline.syncOperations.addHandler(
            WebSocketHandler(
                connection: RelayConnection(limits: limits, url: "", challenge: "word", now: now),
                backend: RecordingBackend(),
                limits: limits,
                audience: LiveAudience(logger: Logger(label: "test")),
                progress: progress,
                activity: SocketActivity(now: now),
                now: { now }
            )
        )
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    /// A frame of a client's; a mask of zeros changes nothing.
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

    @Test func pingsDoNotKeepHalfAMessageOpen() throws {
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

    @Test func whoPingsAndHasNothingToSayMayStay() throws {
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
    func whoSendsNoMessagesButTooManyFramesIsDisconnected(opcode: WebSocketOpcode, fin: Bool) throws {
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
