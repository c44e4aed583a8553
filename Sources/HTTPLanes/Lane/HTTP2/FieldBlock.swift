/// A field block that is under way over HEADERS and CONTINUATION frames (RFC 9113, section 4.3).
struct FieldBlock {
    let streamID: Int32
    let endsStream: Bool
    var fields: AnswerBlock
    private var frames = 0
    private var bytes = 0

    init(streamID: Int32, endsStream: Bool, areTrailers: Bool) {
        self.streamID = streamID
        self.endsStream = endsStream
        fields = AnswerBlock(areTrailers: areTrailers)
    }

    /// Whether nothing of it came before what was received last.
    var isInOnePiece: Bool { frames == 1 }

    /// False when a peer goes on and on: what nobody keeps must nevertheless be decoded.
    mutating func received(_ count: Int) -> Bool {
        frames += 1
        bytes += count
        return frames <= Self.frameLimit && bytes <= Self.byteLimit
    }

    private static let frameLimit = 512
    private static let byteLimit = 4 * HTTP2Session.headerLimit
}
