/// Cuts what a connection brings into frames (RFC 9113, section 4).
///
/// Frames that lie whole in what was received are not copied; the beginning of one that does not is kept for its end.
struct FrameReader: ~Copyable {
    private let kept = UnsafeMutableRawBufferPointer.allocate(
        byteCount: FrameHeader.size + FrameHeader.maximumLength,
        alignment: 16
    )
    private var keptCount = 0

    deinit {
        kept.deallocate()
    }

    /// Whether the beginning of a frame is kept for its end.
    var isInsideFrame: Bool { keptCount > 0 }

    /// The next whole frame, taken off the front of `bytes`; nil when all of them are used up without completing one.
    /// The frame's payload holds until the next call, and as long as `bytes`.
    mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(HTTP2Violation) -> Frame? {
        if keptCount > 0 { return try completeKept(&bytes) }
        guard bytes.count >= FrameHeader.size, let start = bytes.baseAddress else {
            keep(&bytes, upTo: FrameHeader.size)
            return nil
        }
        let header = try checked(FrameHeader(start))
        let end = FrameHeader.size + header.length
        guard bytes.count >= end else {
            keep(&bytes, upTo: end)
            return nil
        }
        let payload = UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.size..<end])
        bytes = UnsafeRawBufferPointer(rebasing: bytes[end...])
        return Frame(header: header, payload: payload)
    }

    private mutating func completeKept(_ bytes: inout UnsafeRawBufferPointer) throws(HTTP2Violation) -> Frame? {
        keep(&bytes, upTo: FrameHeader.size)
        guard keptCount >= FrameHeader.size, let start = kept.baseAddress else { return nil }
        let header = try checked(FrameHeader(start))
        let end = FrameHeader.size + header.length
        keep(&bytes, upTo: end)
        guard keptCount == end else { return nil }
        keptCount = 0
        return Frame(header: header, payload: UnsafeRawBufferPointer(rebasing: kept[FrameHeader.size..<end]))
    }

    private func checked(_ header: FrameHeader) throws(HTTP2Violation) -> FrameHeader {
        guard header.length <= FrameHeader.maximumLength else { throw .connection(.frameSizeError) }
        return header
    }

    /// Moves bytes over until `count` are kept or none are left.
    private mutating func keep(_ bytes: inout UnsafeRawBufferPointer, upTo count: Int) {
        let moved = max(0, min(count - keptCount, bytes.count))
        UnsafeMutableRawBufferPointer(rebasing: kept[keptCount...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<moved]))
        keptCount += moved
        bytes = UnsafeRawBufferPointer(rebasing: bytes[moved...])
    }
}
