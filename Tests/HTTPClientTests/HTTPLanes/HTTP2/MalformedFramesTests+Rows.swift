@testable import HTTPClient

extension MalformedFramesTests {
    private static let ok: [UInt8] = [0x88]
    private static let zeros = [UInt8](repeating: 0, count: 16_385)

    private static func field(_ name: String, _ value: String) -> [UInt8] { RawFrame.field(name, value) }

    static let connectionErrors: [Row] = [
        // Section 4.2, and 6.5.2: this side has not set SETTINGS_MAX_FRAME_SIZE.
        Row("a frame too large", .frameSizeError, .data(1, zeros)),
        // 4.3
        Row("HPACK with an index of nothing", .compressionError, .headers(1, [0xff, 0xff, 0xff, 0x0f])),
        Row("HPACK cut off", .compressionError, .headers(1, [0x88, 0x40, 0x05, 0x61])),
        Row("HPACK with a table larger than allowed", .compressionError, .headers(1, [0x3f, 0xe2, 0x1f, 0x88])),
        Row(
            "HPACK on a stream that was reset",
            .compressionError,
            .data(1, []),
            .headers(1, [0xff, 0xff, 0xff, 0x0f])
        ),
        Row("another frame within a field block", .protocolError, .headers(1, ok, flags: 0), .data(3, [])),
        Row("a frame of no known type within one", .protocolError, .headers(1, ok, flags: 0), RawFrame(type: 0xaa)),
        Row("another stream's CONTINUATION", .protocolError, .headers(1, ok, flags: 0), .continuation(3, [])),
        Row("a CONTINUATION of nothing", .protocolError, .continuation(1, ok)),
        Row("a CONTINUATION after the end", .protocolError, .headers(1, ok, endStream: false), .continuation(1, [])),
        // 5.1
        Row("DATA on an idle stream", .protocolError, .data(7, [])),
        Row("HEADERS on an idle stream", .protocolError, .headers(7, ok)),
        Row("RST_STREAM on an idle stream", .protocolError, .reset(7, 0)),
        Row("WINDOW_UPDATE on an idle stream", .protocolError, .windowUpdate(7, 1)),
        Row("HEADERS on a stream of the server's", .protocolError, .headers(2, ok)),
        Row("DATA on a stream that has ended", .streamClosed, .headers(1, ok), .data(1, [])),
        Row("HEADERS on a stream that has ended", .streamClosed, .headers(1, ok), .headers(1, ok)),
        Row("DATA on a stream that its sender reset", .streamClosed, .reset(1, 2), .data(1, [])),
        // 6.1 to 6.3
        Row("DATA on no stream", .protocolError, .data(0, [])),
        Row("DATA of padding only, and too much", .protocolError, RawFrame(type: 0, flags: 8, stream: 1, payload: [1])),
        Row("DATA without its padding's length", .frameSizeError, RawFrame(type: 0, flags: 8, stream: 1)),
        Row("HEADERS on no stream", .protocolError, .headers(0, ok)),
        Row("HEADERS with too much padding", .protocolError, .headers(1, [2, 0x88], flags: 0x0c)),
        Row("HEADERS shorter than its priority", .frameSizeError, .headers(1, [0, 0, 0, 0], flags: 0x24)),
        Row("the same with padding", .frameSizeError, .headers(1, [0, 0, 0, 0, 0], flags: 0x2c)),
        Row("padding that reaches into the priority", .protocolError, .headers(1, [1, 0, 0, 0, 0, 0], flags: 0x2c)),
        Row("PRIORITY on no stream", .protocolError, RawFrame(type: 2, payload: [0, 0, 0, 0, 0])),
        // 6.4
        Row("RST_STREAM on no stream", .protocolError, .reset(0, 0)),
        Row("RST_STREAM of three bytes", .frameSizeError, RawFrame(type: 3, stream: 1, payload: [0, 0, 0])),
        // 6.5
        Row("SETTINGS on a stream", .protocolError, RawFrame(type: 4, stream: 1)),
        Row("SETTINGS cut off", .frameSizeError, RawFrame(type: 4, payload: [0, 1, 0, 0, 0])),
        Row(
            "an acknowledgement that says something",
            .frameSizeError,
            RawFrame(type: 4, flags: 1, payload: zeros[..<6] + [])
        ),
        Row("an acknowledgement of nothing", .protocolError, .settingsAck),
        Row("pushing switched on", .protocolError, .settings((2, 1))),
        Row("pushing neither on nor off", .protocolError, .settings((2, 2))),
        Row("a window of 2^31", .flowControlError, .settings((4, 0x8000_0000))),
        Row("frames smaller than the smallest", .protocolError, .settings((5, 16_383))),
        Row("frames larger than the largest", .protocolError, .settings((5, 16_777_216))),
        Row(
            "a window that SETTINGS let outgrow 2^31-1",
            .flowControlError,
            .windowUpdate(3, 0x7fff_0000),
            .settings((4, 0x7fff_ffff))
        ),
        // 6.6 to 6.8
        Row("PUSH_PROMISE", .protocolError, RawFrame(type: 5, flags: 4, stream: 1, payload: [0, 0, 0, 2, 0x82])),
        Row("PING of seven bytes", .frameSizeError, RawFrame(type: 6, payload: zeros[..<7] + [])),
        Row("PING on a stream", .protocolError, RawFrame(type: 6, stream: 1, payload: zeros[..<8] + [])),
        Row("GOAWAY on a stream", .protocolError, RawFrame(type: 7, stream: 1, payload: zeros[..<8] + [])),
        Row("GOAWAY of seven bytes", .frameSizeError, RawFrame(type: 7, payload: zeros[..<7] + [])),
        Row("a second GOAWAY that takes more", .protocolError, .goAway(1), .goAway(3)),
        // 6.9
        Row("WINDOW_UPDATE of three bytes", .frameSizeError, RawFrame(type: 8, stream: 1, payload: [0, 0, 1])),
        Row("WINDOW_UPDATE by nothing", .protocolError, .windowUpdate(0, 0)),
        Row("a window beyond 2^31-1", .flowControlError, .windowUpdate(0, 0x7fff_ffff)),
        // 10.5
        Row(
            "endless empty CONTINUATION",
            .enhanceYourCalm,
            [.headers(1, ok, flags: 0)]
                + [RawFrame](repeating: .continuation(1, [], endHeaders: false), count: 2_000)
        ),
        Row(
            "endless full CONTINUATION",
            .enhanceYourCalm,
            [.headers(1, ok, flags: 0)]
                + [RawFrame](
                    repeating: .continuation(1, field("a", String(repeating: "b", count: 8_000)), endHeaders: false),
                    count: 60
                )
        ),
        Row(
            "endless PING",
            .enhanceYourCalm,
            [RawFrame](repeating: RawFrame(type: 6, payload: zeros[..<8] + []), count: 20_000)
        ),
        Row("endless SETTINGS", .enhanceYourCalm, [RawFrame](repeating: .settings(), count: 20_000)),
        Row(
            "endless acknowledged PING",
            .enhanceYourCalm,
            endless(RawFrame(type: 6, flags: 1, payload: zeros[..<8] + []))
        ),
        Row(
            "endless interim answers",
            .enhanceYourCalm,
            endless(.headers(1, field(":status", "103"), endStream: false))
        ),
        Row(
            "endless trailers",
            .enhanceYourCalm,
            [.headers(1, ok, endStream: false)] + endless(.headers(1, field("a", "b"), endStream: false))
        ),
        Row(
            "endless empty DATA",
            .enhanceYourCalm,
            [.headers(1, ok, endStream: false)] + endless(.data(1, [], endStream: false))
        ),
        Row(
            "endless DATA of a byte",
            .enhanceYourCalm,
            [.headers(1, ok, endStream: false)] + endless(.data(1, [1], endStream: false))
        ),
        Row(
            "endless DATA behind an answer without content",
            .enhanceYourCalm,
            [.headers(1, field(":status", "204"), endStream: false)]
                + endless(.data(1, zeros[..<100] + [], endStream: false))
        ),
        Row(
            "endless DATA on a stream that this side reset",
            .enhanceYourCalm,
            [.data(1, [])] + endless(.data(1, zeros[..<100] + [], endStream: false))
        ),
        Row("endless WINDOW_UPDATE", .enhanceYourCalm, endless(.windowUpdate(0, 1))),
        Row("endless PRIORITY", .enhanceYourCalm, endless(RawFrame(type: 2, stream: 9, payload: [0, 0, 0, 1, 1]))),
        Row("endless RST_STREAM", .enhanceYourCalm, [.headers(1, ok)] + endless(.reset(1, 8))),
        Row("endless frames of no known type", .enhanceYourCalm, endless(RawFrame(type: 0xaa))),
        // Each costs as much decoding time as many small ones.
        Row(
            "many large field blocks",
            .enhanceYourCalm,
            [.data(1, [])]
                + [RawFrame](repeating: .headers(1, field("a", String(repeating: "b", count: 16_000))), count: 200)
        ),
    ]

    private static func endless(_ frame: RawFrame) -> [RawFrame] { [RawFrame](repeating: frame, count: 10_200) }

    static let streamErrors: [Row] = [
        Row("PRIORITY of four bytes", .frameSizeError, RawFrame(type: 2, stream: 1, payload: [0, 0, 0, 0])),
        Row("WINDOW_UPDATE by nothing", .protocolError, .windowUpdate(1, 0)),
        Row("a window beyond 2^31-1", .flowControlError, .windowUpdate(1, 0x7fff_ffff)),
        // 8.1
        Row("DATA before HEADERS", .protocolError, .data(1, [])),
        Row(
            "DATA after an interim answer only",
            .protocolError,
            .headers(1, field(":status", "103"), endStream: false),
            .data(1, [])
        ),
        Row("an interim answer that ends the stream", .protocolError, .headers(1, field(":status", "103"))),
        Row("a change of protocol", .protocolError, .headers(1, field(":status", "101"), endStream: false)),
        Row(
            "trailers that do not end the stream",
            .protocolError,
            .headers(1, ok, endStream: false),
            .headers(1, field("a", "b"), endStream: false)
        ),
        Row("a status in trailers", .protocolError, .headers(1, ok, endStream: false), .headers(1, ok)),
        // 8.1.1
        Row(
            "less than its content-length",
            .protocolError,
            .headers(1, ok + field("content-length", "4"), endStream: false),
            .data(1, [1, 2, 3])
        ),
        Row(
            "more than its content-length",
            .protocolError,
            .headers(1, ok + field("content-length", "2"), endStream: false),
            .data(1, [1, 2, 3], endStream: false)
        ),
        Row("nothing instead of its content-length", .protocolError, .headers(1, ok + field("content-length", "1"))),
        Row(
            "trailers instead of its content",
            .protocolError,
            .headers(1, ok + field("content-length", "1"), endStream: false),
            .headers(1, field("a", "b"))
        ),
        Row(
            "two content-lengths",
            .protocolError,
            .headers(1, ok + field("content-length", "0") + field("content-length", "0"))
        ),
        Row("a content-length in words", .protocolError, .headers(1, ok + field("content-length", "zero"))),
        Row("a negative content-length", .protocolError, .headers(1, ok + field("content-length", "-1"))),
        Row(
            "a content-length beyond counting",
            .protocolError,
            .headers(1, ok + field("content-length", "99999999999999999999"))
        ),
        // 8.2
        Row("a name in upper case", .protocolError, .headers(1, ok + field("Date", "now"))),
        Row("no name", .protocolError, .headers(1, ok + field("", "now"))),
        Row("a blank in a name", .protocolError, .headers(1, ok + field("a b", "c"))),
        Row("a colon in a name", .protocolError, .headers(1, ok + field("a:b", "c"))),
        Row("a name beyond ASCII", .protocolError, .headers(1, ok + field("ü", "c"))),
        Row("NUL in a value", .protocolError, .headers(1, ok + field("a", "b\0c"))),
        Row("CR in a value", .protocolError, .headers(1, ok + field("a", "b\rc"))),
        Row("LF in a value", .protocolError, .headers(1, ok + field("a", "b\nc"))),
        Row("a blank before a value", .protocolError, .headers(1, ok + field("a", " b"))),
        Row("a tab behind a value", .protocolError, .headers(1, ok + field("a", "b\t"))),
        Row("connection", .protocolError, .headers(1, ok + field("connection", "close"))),
        Row("keep-alive", .protocolError, .headers(1, ok + field("keep-alive", "timeout=5"))),
        Row("proxy-connection", .protocolError, .headers(1, ok + field("proxy-connection", "close"))),
        Row("transfer-encoding", .protocolError, .headers(1, ok + field("transfer-encoding", "chunked"))),
        Row("upgrade", .protocolError, .headers(1, ok + field("upgrade", "h2c"))),
        // 8.3
        Row("no status", .protocolError, .headers(1, field("a", "b"))),
        Row("no fields", .protocolError, .headers(1, [])),
        Row("two statuses", .protocolError, .headers(1, ok + ok)),
        Row("a status behind a field", .protocolError, .headers(1, field("a", "b") + ok)),
        Row("a request's pseudo-header", .protocolError, .headers(1, ok + [0x82])),
        Row("a pseudo-header of no meaning", .protocolError, .headers(1, ok + field(":a", "b"))),
        Row("a status of two digits", .protocolError, .headers(1, field(":status", "20"))),
        Row("a status of four digits", .protocolError, .headers(1, field(":status", "2000"))),
        Row("a status below 100", .protocolError, .headers(1, field(":status", "099"))),
        Row("a status in words", .protocolError, .headers(1, field(":status", "two"))),
        // 10.5.1
        Row(
            "more fields than are announced to be taken",
            .enhanceYourCalm,
            [.headers(1, ok, flags: 0)]
                + [RawFrame](
                    repeating: .continuation(1, field("a", String(repeating: "b", count: 8_000)), endHeaders: false),
                    count: 9
                )
                + [.continuation(1, [])]
        ),
    ]

    static let harmless: [Row] = [
        Row("a frame of no known type", .noError, RawFrame(type: 0xaa, flags: 0xff, stream: 99, payload: [1, 2, 3])),
        Row("a setting of no known kind", .noError, .settings((0xaaaa, .max))),
        Row("PRIORITY", .noError, RawFrame(type: 2, stream: 9, payload: [0, 0, 0, 1, 1])),
        Row("an acknowledged PING", .noError, RawFrame(type: 6, flags: 1, payload: zeros[..<8] + [])),
        Row("HEADERS with priority and padding", .noError, .headers(1, [2, 0, 0, 0, 0, 9, 0x88, 0, 0], flags: 0x2c)),
        Row(
            "DATA of padding only",
            .noError,
            .headers(1, ok, endStream: false),
            RawFrame(type: 0, flags: 9, stream: 1, payload: [2, 0, 0])
        ),
        Row(
            "flags and bits without a meaning",
            .noError,
            .headers(1, ok, flags: 0xd6),
            RawFrame(type: 8, flags: 0xff, stream: 0x8000_0000, payload: [0x80, 0, 0, 1])
        ),
        Row(
            "WINDOW_UPDATE and RST_STREAM on a stream that has ended",
            .noError,
            .headers(1, ok),
            .windowUpdate(1, 1),
            .windowUpdate(1, 0),
            .reset(1, 0)
        ),
        Row(
            "a field block without a field per frame",
            .noError,
            .headers(1, [], flags: 0),
            .continuation(1, [], endHeaders: false),
            .continuation(1, ok)
        ),
        Row(
            "a field cut in two",
            .noError,
            .headers(1, [0x88, 0x00, 0x01], flags: 0),
            .continuation(1, [0x61, 0x01, 0x62])
        ),
        Row(
            "interim answers",
            .noError,
            .headers(1, field(":status", "100"), endStream: false),
            .headers(1, field(":status", "103") + field("link", "x"), endStream: false),
            .headers(1, ok)
        ),
        Row(
            "no content with a content-length",
            .noError,
            .headers(1, field(":status", "204") + field("content-length", "9"))
        ),
        Row(
            "GOAWAY that takes what is under way, and then less of the rest",
            .noError,
            .goAway(0x7fff_ffff),
            .goAway(5)
        ),
    ]
}

extension MalformedFramesTests.Row {
    init(_ name: String, _ code: HTTP2ErrorCode, _ frames: [RawFrame]) {
        self.init(name, code)
        self.frames = frames
    }
}
