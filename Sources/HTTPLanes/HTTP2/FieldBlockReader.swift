/// Puts the field blocks of answers together and decodes them (RFC 9113, section 4.3): one in one frame or several,
/// which nothing else comes between.
struct FieldBlockReader: ~Copyable {
    private var decoder: HPACKDecoder
    private var repeated = RepeatedBlock()
    /// The block whose end has not come yet.
    private var begun: FieldBlock?

    /// Nil without memory.
    init?() {
        guard let decoder = HPACKDecoder() else { return nil }
        self.decoder = decoder
    }

    /// The stream of the block whose end has not come yet: the next frame has to continue it.
    var streamInProgress: Int32? { begun?.streamID }

    /// Begins a block with its first fragment. Returns it when it is whole.
    mutating func begin(
        _ block: consuming FieldBlock,
        _ fragment: UnsafeRawBufferPointer,
        isLast: Bool
    ) throws(HTTP2Violation) -> FieldBlock? {
        try decode(fragment, of: block, isLast: isLast)
    }

    /// Continues the block that was begun. Returns it when it is whole.
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
        let mayRepeat = isLast && block.isInOnePiece && !block.fields.areTrailers
        if mayRepeat, let fields = repeated.fields(of: fragment) {
            block.fields = fields
        } else {
            try decoder.decode(fragment, isLast: isLast) { block.fields.append(name: $0, value: $1) }
            if mayRepeat {
                repeated.learn(fragment, block.fields)
            } else if !isLast || !block.isInOnePiece || !RepeatedBlock.leavesTableAlone(fragment) {
                repeated.forget()
            }
        }
        guard isLast else {
            begun = block
            return nil
        }
        return block
    }
}
