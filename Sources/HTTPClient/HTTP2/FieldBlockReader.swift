import CNghttp2

/// Joins and decodes the field blocks of responses (RFC 9113, section 4.3): one frame or several, without other frames
/// in between.
struct FieldBlockReader: ~Copyable {
    private var decoder: HPACKDecoder
    /// The incomplete block.
    private var begun: FieldBlock?

    /// Nil if memory is exhausted.
    init?() {
        guard let decoder = HPACKDecoder() else { return nil }
        self.decoder = decoder
    }

    /// The stream of the incomplete block: the next frame must continue it.
    var streamInProgress: Int32? { begun?.streamID }

    /// Starts a block with its first fragment. Returns it if it is complete.
    mutating func begin(
        _ block: consuming FieldBlock,
        _ fragment: UnsafeRawBufferPointer,
        isLast: Bool
    ) throws(HTTP2Violation) -> FieldBlock? {
        try decode(fragment, of: block, isLast: isLast)
    }

    /// Continues the incomplete block. Returns it once it is complete.
    mutating func go(on fragment: UnsafeRawBufferPointer, isLast: Bool) throws(HTTP2Violation) -> FieldBlock? {
        guard let block = begun else { throw .connection(.protocolError) }
        return try decode(fragment, of: block, isLast: isLast)
    }

    private mutating func decode(
        _ fragment: UnsafeRawBufferPointer,
        of block: consuming FieldBlock,
        isLast: Bool
    ) throws(HTTP2Violation) -> FieldBlock? {
        begun = nil
        guard block.received(fragment.count) else { throw .connection(.enhanceYourCalm) }
        try decoder.decode(fragment, isLast: isLast) { block.fields.append(name: $0, value: $1) }
        guard isLast else {
            begun = block
            return nil
        }
        return block
    }
}

/// The receiving half of a connection's header compression (RFC 7541), using nghttp2.
struct HPACKDecoder: ~Copyable {
    private let inflater: OpaquePointer

    /// Nil if memory is exhausted.
    init?() {
        var created: OpaquePointer?
        guard nghttp2_hd_inflate_new(&created) == 0, let created else { return nil }
        inflater = created
    }

    deinit {
        nghttp2_hd_inflate_del(inflater)
    }

    /// Decodes the next fragment of a field block. Names and values are valid only during `field`.
    ///
    /// - Parameters:
    ///   - fragment: The fragment in a HEADERS or CONTINUATION frame.
    ///   - isLast: Whether the block ends with it.
    ///   - field: Takes each field.
    /// - Throws: A connection error if the block cannot be decoded.
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
