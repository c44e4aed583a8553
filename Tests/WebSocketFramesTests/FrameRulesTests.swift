import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing
import WebSocketFrames

struct FrameRulesTests {
    /// What the handlers make of frames: the texts of messages, and the code that the connection is to be closed with.
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

    @Test func onlyClientsMask() throws {
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

    @Test func whatNobodyAgreedOnIsRefused() throws {
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

    @Test func whatIsTooLongIsRefused() throws {
        let long = [frame("12345", fin: false), frame("6789", .continuation)]
        let many = [frame("", fin: false)] + Array(repeating: frame("", .continuation, fin: false), count: 3)
        for frames in [long, many] { #expect(try messages(frames, from: .server) == ([], .messageTooLarge)) }
    }

    @Test func otherErrorsAreNotOfFrames() {
        #expect(WebSocketErrorCode(closingAfter: ChannelError.ioOnClosedChannel) == nil)
        #expect(WebSocketErrorCode(closingAfter: NIOWebSocketError.invalidFrameLength) == .messageTooLarge)
    }
}
