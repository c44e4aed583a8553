import Core
import HTTPClient
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing
import TimeTestSupport

@testable import Relays

@Suite(.timeLimit(.minutes(1)))
struct RelayWireTests {
    @Test func greetingInTheUpgradeSegmentArrives() async throws {
        let relay = try await ScriptedRelay(greeting: [#"["AUTH","challenge"]"#])
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)")
        var received = client.received.makeAsyncIterator()
        #expect(await received.next() == .text(#"["AUTH","challenge"]"#))
        try await relay.close()
    }

    @Test func textsGoBothWays() async throws {
        var relay = try await ScriptedRelay(onText: { ["<\($0)>"] })
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)/inbox?a=b")
        var received = client.received.makeAsyncIterator()
        client.send("[\"REQ\"]")
        #expect(await relay.next() == .connected)
        #expect(await relay.next() == .text("[\"REQ\"]"))
        #expect(await received.next() == .text("<[\"REQ\"]>"))
        #expect(await received.next() == .all)
        client.close()
        #expect(await relay.next() == .closed(1000))
        #expect(await client.failure() == nil)
        try await relay.close()
    }

    @Test func fragmentsAreReassembledAroundPings() async throws {
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)")
        #expect(await relay.next() == .connected)
        try await relay.send(WebSocketFrame(fin: false, opcode: .text, data: ByteBuffer(string: "[\"NO")))
        try await relay.send(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer(string: "here?")))
        try await relay.send(WebSocketFrame(fin: true, opcode: .continuation, data: ByteBuffer(string: "TICE\"]")))
        #expect(await client.texts(1) == ["[\"NOTICE\"]"])
        #expect(await relay.next() == .pong("here?"))
        try await relay.close()
    }

    private static let badFrames: [(frame: WebSocketFrame, status: UInt16)] = [
        (WebSocketFrame(fin: true, opcode: .text, maskKey: [1, 2, 3, 4], data: ByteBuffer(string: "masked")), 1002),
        (WebSocketFrame(fin: true, rsv1: true, opcode: .text, data: ByteBuffer(string: "deflated")), 1002),
        (WebSocketFrame(fin: true, opcode: .continuation, data: ByteBuffer(string: "of nothing")), 1002),
        (WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer(string: "binary")), 1003),
        (WebSocketFrame(fin: true, opcode: WebSocketOpcode(encodedWebSocketOpcode: 5) ?? .text, data: .init()), 1002),
    ]

    @Test(arguments: badFrames)
    func framesThatAServerMustNotSendEndTheConnection(_ frame: WebSocketFrame, _ status: UInt16) async throws {
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)")
        #expect(await relay.next() == .connected)
        try await relay.send(frame)
        #expect(await client.failure() == .protocolError)
        #expect(await relay.next() == .closed(status))
        try await relay.close()
    }

    @Test(arguments: [false, true]) func tooLongMessageIsSkipped(_ isFragmented: Bool) async throws {
        var limits = ConnectionLimits()
        limits.messageBytes = ByteCount(1_000)
        limits.bytesPassed = ByteCount(2_000_000)
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)", limits: limits)
        #expect(await relay.next() == .connected)
        if isFragmented {
            let part = ByteBuffer(repeating: 0x20, count: 600)
            try await relay.send(WebSocketFrame(fin: false, opcode: .text, data: part))
            try await relay.send(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer(string: "here?")))
            try await relay.send(WebSocketFrame(fin: true, opcode: .continuation, data: part))
        } else {
            try await relay.send(String(repeating: " ", count: 1_000_000))
        }
        try await relay.send("after")
        var received = client.received.makeAsyncIterator()
        var isSkipped = false
        while let next = await received.next(), next != .text("after") {
            #expect([.all, .skipped].contains(next))
            if next == .skipped { isSkipped = true }
        }
        #expect(isSkipped)
        if isFragmented { #expect(await relay.next() == .pong("here?")) }
        client.close()
        #expect(await relay.next() == .closed(1000))
        try await relay.close()
    }

    @Test(arguments: [false, true]) func messageTooLongToSkipEndsTheConnection(_ isFragmented: Bool) async throws {
        var limits = ConnectionLimits()
        limits.messageBytes = ByteCount(1_000)
        limits.bytesPassed = ByteCount(2_000)
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)", limits: limits)
        #expect(await relay.next() == .connected)
        if isFragmented {
            let part = ByteBuffer(repeating: 0x20, count: 1_200)
            try await relay.send(WebSocketFrame(fin: false, opcode: .text, data: part))
            try await relay.send(WebSocketFrame(fin: true, opcode: .continuation, data: part))
        } else {
            try await relay.send(String(repeating: " ", count: 2_001))
        }
        #expect(await client.failure() == .tooLarge)
        #expect(await relay.next() == .closed(1009))
        try await relay.close()
    }

    @Test(arguments: [(1009, ConnectionError.messageRefused), (1001, .closed)])
    func closeFrameOfARelayIsRead(_ status: Int, _ failure: ConnectionError) async throws {
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)")
        #expect(await relay.next() == .connected)
        var data = ByteBuffer()
        data.write(webSocketErrorCode: WebSocketErrorCode(codeNumber: status))
        try await relay.send(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
        #expect(await client.failure() == failure)
        #expect(await relay.next() == .closed(1000))
        try await relay.close()
    }

    @Test func droppedConnectionIsDetected() async throws {
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)")
        #expect(await relay.next() == .connected)
        try await relay.hangUp()
        #expect(await client.failure() == .closed)
        try await relay.close()
    }

    @Test func wireIsNotReadWhilePaused() async throws {
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)")
        #expect(await relay.next() == .connected)
        client.wantMore(false)
        // A read is already in progress; the bytes after it stay in the socket.
        try await relay.send("first")
        var received = client.received.makeAsyncIterator()
        #expect(await received.next() == .unwanted("first"))
        #expect(await received.next() == .all)
        try await relay.send("second")
        client.send("still speaking")
        #expect(await relay.next() == .text("still speaking"))
        client.wantMore(true)
        #expect(await received.next() == .text("second"))
        client.close()
        try await relay.close()
    }

    @Test func relayThatDoesNotReadIsDisconnected() async throws {
        var limits = ConnectionLimits()
        limits.unreadBytes = .mebibytes(1)
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)", limits: limits)
        #expect(await relay.next() == .connected)
        try await relay.reads(false)
        // More than the kernel buffers of two sockets on loopback hold.
        for _ in 0..<64 { client.send(String(repeating: "a", count: 1 << 20)) }
        #expect(await client.failure() == .unread)
        try await relay.close()
    }

    @Test func closeCompletesEvenWithoutAResponse() async throws {
        var limits = ConnectionLimits()
        limits.leaving = .milliseconds(20)
        var relay = try await ScriptedRelay(mute: true)
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)", limits: limits)
        #expect(await relay.next() == .connected)
        client.close()
        #expect(await relay.next() == .closed(1000))
        #expect(await client.failure() == nil)
        #expect(await relay.next() == .ended)
        try await relay.close()
    }
}

extension WireClient {
    /// Returns the next `count` texts.
    func texts(_ count: Int) async -> [String] {
        var texts: [String] = []
        for await case .text(let text) in received {
            texts.append(text)
            if texts.count == count { break }
        }
        return texts
    }

    /// Why the connection ended, when it has.
    func failure() async -> ConnectionError? {
        for await case .ended(let failure) in received { return failure }
        return nil
    }
}

/// A wire without a socket, on a clock that the tests move.
struct RelayWireBeatTests {
    private final class Owner: RelayWireOwner {
        var wantsMore = true
        var ends: [ConnectionError?] = []

        func received(_ message: ByteBuffer) {}
        func passes(isNew: Bool) {}
        func receivedAll() -> Int { 0 }
        func ended(_ failure: ConnectionError?) { ends.append(failure) }
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

    /// Lets that many seconds pass; returns the frames sent during that time.
    private func sent(in seconds: Int64) throws -> [WebSocketOpcode] {
        channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        var opcodes: [WebSocketOpcode] = []
        while let frame = try channel.readOutbound(as: WebSocketFrame.self) {
            #expect(frame.maskKey != nil)
            opcodes.append(frame.opcode)
        }
        return opcodes
    }

    @Test func silentRelayIsPingedTwiceAndDisconnected() throws {
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

    @Test func pausedRelayIsNotDisconnected() throws {
        owner.wantsMore = false
        channel.read()
        #expect(try sent(in: 300) == [])
        #expect(owner.ends.isEmpty)
    }
}

@Test func relayIsDisconnectedAfterTwoUnansweredPings() {
    var keepalive = Keepalive(silence: .milliseconds(100), now: 0)
    #expect(keepalive.tick(now: 99, isListening: true) == .nothing)
    #expect(keepalive.tick(now: 100, isListening: true) == .ping)
    #expect(keepalive.tick(now: 200, isListening: true) == .ping)
    #expect(keepalive.tick(now: 300, isListening: true) == .giveUp)
}

@Test func anyDataKeepsARelayAlive() {
    var keepalive = Keepalive(silence: .milliseconds(100), now: 0)
    #expect(keepalive.tick(now: 100, isListening: true) == .ping)
    #expect(keepalive.tick(now: 200, isListening: true) == .ping)
    keepalive.received(now: 250)
    #expect(keepalive.nextTick == 350)
    #expect(keepalive.tick(now: 300, isListening: true) == .nothing)
    #expect(keepalive.tick(now: 350, isListening: true) == .ping)
    #expect(keepalive.tick(now: 450, isListening: true) == .ping)
}

@Test func silenceWhilePausedDoesNotCount() {
    var keepalive = Keepalive(silence: .milliseconds(100), now: 0)
    #expect(keepalive.tick(now: 100, isListening: true) == .ping)
    #expect(keepalive.tick(now: 200, isListening: true) == .ping)
    #expect(keepalive.tick(now: 300, isListening: false) == .nothing)
    #expect(keepalive.tick(now: 400, isListening: true) == .ping)
}
