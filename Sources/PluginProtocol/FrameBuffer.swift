/// What has come in over a socket and is not handled yet.
package struct FrameBuffer {
    private var bytes: [UInt8] = []
    private var start = 0
    /// By number: whether this side takes the kind.
    private let isTaken: [Bool]
    /// Room beyond this is given back once it is not needed.
    private static let keptCapacity = 512 << 10

    /// A buffer for frames of `kinds`; every other kind is an error.
    package init(taking kinds: Set<FrameKind>) {
        let last = kinds.map(\.rawValue).max() ?? 0
        isTaken = (0...last).map { number in FrameKind(rawValue: number).map(kinds.contains) ?? false }
    }

    /// Bytes that belong to no whole frame yet.
    package var pending: Int { bytes.count - start }

    /// Adds what has been received.
    package mutating func append(_ received: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
            start = 0
        } else if start > 0 {
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
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)),
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self))
            )
        }
        guard let word = UInt16(exactly: number), let kind = FrameKind(rawValue: word) else {
            throw .unknownKind(number)
        }
        guard Int(word) < isTaken.count, isTaken[Int(word)] else { throw .unexpected(kind) }
        guard length <= kind.limit else { throw .tooLong(kind, bytes: Int(length)) }
        return (kind, id, Int(length))
    }
}
