import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing
import TimeTestSupport
import Units

@testable import RelayPool

/// A wire without a socket, on a clock that the tests move.
struct RelayWireBeatTests {
    private final class Owner: RelayWireOwner {
        var wantsMore = true
        var ends: [ConnectionFailure?] = []

        func received(_ message: ByteBuffer) {}
        func passes(isNew: Bool) {}
        func receivedAll() -> Int { 0 }
        func ended(_ failure: ConnectionFailure?) { ends.append(failure) }
    }

    private let channel = EmbeddedChannel()
    private let owner = Owner()

    init() throws {
        var limits = ConnectionLimits()
        limits.silence = .seconds(30)
        let wire = RelayWire(limits: limits, now: 0)
        wire.attach(to: owner)
        try channel.pipeline.syncOperations.addHandler(wire)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    /// Lets so many seconds pass and returns what was sent meanwhile.
    private func sent(in seconds: Int64) throws -> [WebSocketOpcode] {
        channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        var opcodes: [WebSocketOpcode] = []
        while let frame = try channel.readOutbound(as: WebSocketFrame.self) {
            #expect(frame.maskKey != nil)
            opcodes.append(frame.opcode)
        }
        return opcodes
    }

    @Test func aSilentRelayIsPingedTwiceAndGivenUp() throws {
        #expect(try sent(in: 29) == [])
        #expect(try sent(in: 1) == [.ping])
        #expect(try sent(in: 30) == [.ping])
        #expect(owner.ends.isEmpty)
        #expect(try sent(in: 30) == [])
        #expect(owner.ends == [.silent])
        #expect(!channel.isActive)
    }

    @Test func aRelayThatAnswersPingsIsKept() throws {
        for _ in 0..<5 {
            #expect(try sent(in: 30) == [.ping])
            try channel.writeInbound(WebSocketFrame(fin: true, opcode: .pong, data: ByteBuffer()))
        }
        #expect(owner.ends.isEmpty)
    }

    @Test func aRelayThatTalksIsNotPinged() throws {
        for _ in 0..<5 {
            #expect(try sent(in: 29) == [])
            try channel.writeInbound(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: "[]")))
        }
        #expect(owner.ends.isEmpty)
    }

    @Test func aRelayThatReadsNothingGetsOnePongForAllItsPings() throws {
        channel.isWritable = false
        for number in 0..<1_000 {
            try channel.writeInbound(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer(string: "\(number)")))
        }
        #expect(try sent(in: 0) == [])
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        let pong = try #require(try channel.readOutbound(as: WebSocketFrame.self))
        #expect(pong.opcode == .pong)
        #expect(String(buffer: pong.data) == "999")
        #expect(try sent(in: 0) == [])
    }

    @Test func aRelayThatIsNotReadIsNotGivenUp() throws {
        owner.wantsMore = false
        channel.read()
        #expect(try sent(in: 300) == [])
        #expect(owner.ends.isEmpty)
    }
}
