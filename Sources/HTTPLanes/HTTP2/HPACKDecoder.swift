import CNghttp2

/// The receiving half of a connection's header compression (RFC 7541), by nghttp2.
struct HPACKDecoder: ~Copyable {
    private let inflater: OpaquePointer

    /// Nil without memory.
    init?() {
        var created: OpaquePointer?
        guard nghttp2_hd_inflate_new(&created) == 0, let created else { return nil }
        inflater = created
    }

    deinit {
        nghttp2_hd_inflate_del(inflater)
    }

    /// Decodes the next piece of a field block. Names and values hold for the time of `field`.
    ///
    /// - Parameters:
    ///   - fragment: As it stands in a HEADERS or CONTINUATION frame.
    ///   - isLast: Whether the block ends with it.
    ///   - field: Takes each field.
    /// - Throws: A connection error when the block cannot be decoded.
    mutating func decode(
        _ fragment: UnsafeRawBufferPointer,
        isLast: Bool,
        _ field: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) throws(HTTP2Violation) {
        var next = fragment.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var left = fragment.count
        while true {
            var decoded = nghttp2_nv()
            var flags: Int32 = 0
            let count = nghttp2_hd_inflate_hd2(inflater, &decoded, &flags, next, left, isLast ? 1 : 0)
            guard count >= 0 else { throw .connection(.compressionError) }
            next = next.map { $0 + count }
            left -= count
            if UInt32(bitPattern: flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 {
                field(
                    UnsafeBufferPointer(start: decoded.name, count: decoded.namelen),
                    UnsafeBufferPointer(start: decoded.value, count: decoded.valuelen)
                )
                continue
            }
            if UInt32(bitPattern: flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 {
                nghttp2_hd_inflate_end_headers(inflater)
                return
            }
            if left == 0 { return }
        }
    }
}
