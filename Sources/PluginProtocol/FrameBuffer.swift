/// What has come in over a socket and is not handled yet.
package struct FrameBuffer {
    private var bytes: [UInt8] = []
    private var start = 0
    /// The kinds that this side takes.
    private let kinds: Set<FrameKind>

    package init(taking kinds: Set<FrameKind>) { self.kinds = kinds }

    /// Bytes that belong to no whole frame yet.
    package var pending: Int { bytes.count - start }

    package mutating func append(_ received: UnsafeRawBufferPointer) {
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: received)
    }

    /// Calls `body` with each whole frame. Its memory lives until `body` returns.
    ///
    /// - Throws: What is wrong with a frame, as soon as its header is there, or what `body` throws.
    package mutating func drain(_ body: (Frame) throws(ProtocolError) -> Void) throws(ProtocolError) {
        while let (kind, id, length) = try header() {
            guard pending >= Frame.headerSize + length else { return }
            let from = start + Frame.headerSize
            start = from + length
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(ProtocolError) in
                    let range = UnsafeRawBufferPointer(rebasing: bytes[from..<from + length])
                    try body(Frame(kind: kind, id: id, body: range))
                }
            }
            try result.get()
        }
    }

    private func header() throws(ProtocolError) -> (kind: FrameKind, id: UInt64, length: Int)? {
        guard pending >= Frame.headerSize else { return nil }
        let (length, number, id) = bytes.withUnsafeBytes { bytes in
            (
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)),
                UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 4, as: UInt16.self)),
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self))
            )
        }
        guard let kind = FrameKind(rawValue: number) else { throw .unknownKind(number) }
        guard kinds.contains(kind) else { throw .unexpected(kind) }
        guard length <= kind.limit else { throw .tooLong(kind, bytes: Int(length)) }
        return (kind, id, Int(length))
    }
}
