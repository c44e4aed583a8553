/// How much DATA the peer takes on the connection, all streams together. No setting changes where it begins (RFC 9113,
/// section 6.9.2).
///
/// It may open ahead of the frames that say so, which are read behind the answers in front of them. They are passed
/// over when their turn comes.
struct ConnectionSendWindow {
    private static let initial = 65_535

    private var window = SendWindow()
    /// By how much it has opened ahead.
    private var ahead = 0

    var available: Int { window.available(initially: Self.initial) }

    /// See ``SendWindow/untilUpdate(initially:)``.
    var untilUpdate: Int { window.untilUpdate(initially: Self.initial) }

    mutating func sent(_ count: Int) { window.sent(count) }

    /// Looks through whole frames for a larger window. True when it opened. The same bytes are to be read next, and
    /// each of these frames goes to ``received(increment:)`` then.
    mutating func open(aheadOf bytes: UnsafeRawBufferPointer) -> Bool {
        let before = ahead
        var rest = bytes
        while rest.count >= FrameHeader.size, let start = rest.baseAddress {
            let header = FrameHeader(start)
            let end = FrameHeader.size + header.length
            // Nothing begins after a GOAWAY.
            guard rest.count >= end, header.type != .goAway else { break }
            if header.type == .windowUpdate, header.streamID == 0, header.length == 4 {
                let frame = Frame(
                    header: header,
                    payload: UnsafeRawBufferPointer(rebasing: rest[FrameHeader.size..<end])
                )
                let increment = Int(frame.number(at: 0) & 0x7fff_ffff)
                guard increment > 0, window.grow(by: increment, initially: Self.initial) else { break }
                ahead += increment
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        }
        return ahead > before
    }

    /// Takes in a WINDOW_UPDATE of the connection.
    mutating func received(increment: Int) throws(HTTP2Violation) {
        guard increment > 0 else { throw .connection(.protocolError) }
        guard ahead < increment else {
            ahead -= increment
            return
        }
        guard window.grow(by: increment, initially: Self.initial) else { throw .connection(.flowControlError) }
    }
}
