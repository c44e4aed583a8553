import Listeners
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

struct FrameRulesTests {
    /// Returns the handlers' result for frames: the texts of messages, and the close code of the connection.
    private func messages(
        _ frames: [WebSocketFrame],
        from sender: FrameRules.Sender
    ) throws -> (texts: [String], code: WebSocketErrorCode?) {
        let channel = EmbeddedChannel()
        let handlers = FrameRules.handlers(for: sender, fragments: 3, messageBytes: 8)
        try channel.pipeline.syncOperations.addHandlers(handlers)
        var code: WebSocketErrorCode?
        do {
            for frame in frames { try channel.writeInbound(frame) }
        } catch {
            code = WebSocketErrorCode(closingAfter: error)
        }
        var texts: [String] = []
        while let frame = try channel.readInbound(as: WebSocketFrame.self) {
            texts.append(String(buffer: frame.unmaskedData))
        }
        return (texts, code)
    }

    private func frame(_ text: String, _ opcode: WebSocketOpcode = .text, fin: Bool = true) -> WebSocketFrame {
        WebSocketFrame(fin: fin, opcode: opcode, data: ByteBuffer(string: text))
    }

    @Test func onlyClientsMaskFrames() throws {
        let masked = WebSocketFrame(fin: true, opcode: .text, maskKey: [0, 0, 0, 0], data: ByteBuffer(string: "hello"))
        #expect(try messages([masked], from: .client) == (["hello"], nil))
        #expect(try messages([masked], from: .server) == ([], .protocolError))
        #expect(try messages([frame("hello")], from: .server) == (["hello"], nil))
        #expect(try messages([frame("hello")], from: .client) == ([], .protocolError))
    }

    @Test func fragmentsAreOneMessage() throws {
        let parts = [frame("a", fin: false), frame("b", .continuation, fin: false), frame("c", .continuation)]
        #expect(try messages(parts, from: .server) == (["abc"], nil))
    }

    @Test func unnegotiatedFrameIsRefused() throws {
        let compressed = WebSocketFrame(fin: true, rsv1: true, opcode: .text, data: ByteBuffer())
        let unknown = WebSocketFrame(
            fin: true,
            opcode: try #require(WebSocketOpcode(encodedWebSocketOpcode: 3)),
            data: ByteBuffer()
        )
        for frames in [[compressed], [unknown], [frame("", .continuation)], [frame("", fin: false), frame("")]] {
            #expect(try messages(frames, from: .server) == ([], .protocolError))
        }
    }

    @Test func tooLongMessageIsRefused() throws {
        let long = [frame("12345", fin: false), frame("6789", .continuation)]
        let many = [frame("", fin: false)] + Array(repeating: frame("", .continuation, fin: false), count: 3)
        for frames in [long, many] { #expect(try messages(frames, from: .server) == ([], .messageTooLarge)) }
    }

    /// Returns the bytes that pass `FrameLengths` if they arrive in pieces of `size`, and whether they break its rule.
    private func checked(_ bytes: [UInt8], inPiecesOf size: Int) throws -> (bytes: [UInt8], isBroken: Bool) {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(FrameLengths())
        var (passed, isBroken): ([UInt8], Bool) = ([], false)
        for start in stride(from: 0, to: bytes.count, by: size) {
            do {
                try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
            } catch is FrameRules.Violation {
                isBroken = true
            }
            while let buffer = try channel.readInbound(as: ByteBuffer.self) { passed += buffer.readableBytesView }
        }
        return (passed, isBroken)
    }

    @Test(arguments: [7, 1_000, 1_000_000]) func lengthsAreWrittenInAsFewBytesAsTheyCanBe(_ size: Int) throws {
        let mask: [UInt8] = [1, 2, 3, 4]
        let good =
            [0x81, 0x80] + mask + [0x81, 0xFD] + mask + .init(repeating: 0x81, count: 125)
            + [0x01, 0xFE, 0, 126] + mask + .init(repeating: 0, count: 126)
            + [0x80, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0] + mask + .init(repeating: 0x81, count: 1 << 16)
            + [0x81, 3, 126, 127, 126]
        #expect(try checked(good, inPiecesOf: size) == (good, false))
        for wrong in [[0x81, 0xFE, 0, 125], [0x89, 0xFE, 0, 0], [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 255, 255]] as [[UInt8]] {
            let checked = try checked(good + wrong + mask + good, inPiecesOf: size)
            #expect(checked.isBroken)
            #expect(checked.bytes.starts(with: good) && checked.bytes.count < good.count + wrong.count)
        }
    }

    @Test func otherErrorsAreNotFrameErrors() {
        #expect(WebSocketErrorCode(closingAfter: ChannelError.ioOnClosedChannel) == nil)
        #expect(WebSocketErrorCode(closingAfter: NIOWebSocketError.invalidFrameLength) == .messageTooLarge)
    }
}
