import HTTPLanes
import NIOCore
import NIOWebSocket
import Testing
import Units

@testable import RelayPool

@Suite(.timeLimit(.minutes(1)))
struct RelayWireTests {
    @Test func aGreetingInTheSegmentOfTheUpgradeArrives() async throws {
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

    @Test func fragmentsArePutTogetherAroundPings() async throws {
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

    @Test(arguments: [false, true]) func aMessageOverTheLimitIsReadPast(_ isFragmented: Bool) async throws {
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

    @Test(arguments: [false, true]) func aMessageTooLongToReadPastEndsTheConnection(_ isFragmented: Bool) async throws {
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

    @Test(arguments: [(1009, ConnectionFailure.messageRefused), (1001, .closed)])
    func aRelayThatTakesLeaveIsHeard(_ status: Int, _ failure: ConnectionFailure) async throws {
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

    @Test func aRelayThatHangsUpIsNoticed() async throws {
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)")
        #expect(await relay.next() == .connected)
        try await relay.hangUp()
        #expect(await client.failure() == .closed)
        try await relay.close()
    }

    @Test func nothingIsReadWhileNoMoreIsWanted() async throws {
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)")
        #expect(await relay.next() == .connected)
        client.wantMore(false)
        // One read is under way already; what comes behind it stays in the socket.
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

    @Test func aRelayThatReadsNothingIsGivenUp() async throws {
        var limits = ConnectionLimits()
        limits.unreadBytes = .mebibytes(1)
        var relay = try await ScriptedRelay()
        let client = try await WireClient("ws://127.0.0.1:\(relay.port)", limits: limits)
        #expect(await relay.next() == .connected)
        try await relay.reads(false)
        // More than what a kernel holds for two sockets on loopback.
        for _ in 0..<64 { client.send(String(repeating: "a", count: 1 << 20)) }
        #expect(await client.failure() == .unread)
        try await relay.close()
    }

    @Test func leaveIsTakenEvenFromAServerThatDoesNotAnswer() async throws {
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
    /// The next so many texts.
    func texts(_ count: Int) async -> [String] {
        var texts: [String] = []
        for await case .text(let text) in received {
            texts.append(text)
            if texts.count == count { break }
        }
        return texts
    }

    /// Why the connection ended, when it has.
    func failure() async -> ConnectionFailure? {
        for await case .ended(let failure) in received { return failure }
        return nil
    }
}
