/// A whole frame as it was received. Its payload stays where it is until the reader is asked for the next one.
struct Frame {
    let header: FrameHeader
    let payload: UnsafeRawBufferPointer

    /// What a DATA frame carries, without its padding (RFC 9113, section 6.1).
    func content() throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        try withoutPadding(from: 0)
    }

    /// What a HEADERS frame carries of a field block, without padding and priority (RFC 9113, section 6.2).
    func fieldBlockFragment() throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        try withoutPadding(from: header.flags.contains(.priority) ? 5 : 0)
    }

    /// The number in the four bytes of the payload from `offset` on.
    func number(at offset: Int) -> UInt32 {
        UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private func withoutPadding(from skipped: Int) throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        guard header.flags.contains(.padded) else {
            guard payload.count >= skipped else { throw .connection(.frameSizeError) }
            return UnsafeRawBufferPointer(rebasing: payload[skipped...])
        }
        guard let padding = payload.first, payload.count > skipped else { throw .connection(.frameSizeError) }
        let end = payload.count - Int(padding)
        guard end > skipped else { throw .connection(.protocolError) }
        return UnsafeRawBufferPointer(rebasing: payload[(1 + skipped)..<end])
    }
}
