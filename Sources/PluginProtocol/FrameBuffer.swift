/// What has come in over a socket and is not handled yet, in memory of its own.
///
/// Unchecked: nobody else has the memory.
package struct FrameBuffer: ~Copyable, @unchecked Sendable {
    /// Room beyond this is given back once it is not needed.
    private static let keptCapacity = 512 << 10

    private var room: UnsafeMutableRawBufferPointer
    /// Where in `room` lies what has been received and not handed out.
    private var start = 0
    private var end = 0
    /// By number: whether this side takes the kind.
    private let isTaken: [Bool]

    /// A buffer for frames of `kinds`; every other kind is an error.
    package init(taking kinds: Set<FrameKind>) {
        let last = kinds.map(\.rawValue).max() ?? 0
        isTaken = (0...last).map { number in FrameKind(rawValue: number).map(kinds.contains) ?? false }
        room = .allocate(byteCount: 0, alignment: 8)
    }

    deinit { room.deallocate() }

    /// Bytes that belong to no whole frame yet.
    package var pending: Int { end - start }

    /// Has `read` write up to `most` bytes, and returns what it returns: how many it has written; less than one: none.
    package mutating func receive(_ most: Int, _ read: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        makeRoom(most)
        let count = read(UnsafeMutableRawBufferPointer(rebasing: room[end..<end + most]))
        precondition(count <= most, "no more is read than there is room for")
        end += max(0, count)
        return count
    }

    /// Adds what has been received.
    package mutating func append(_ received: UnsafeRawBufferPointer) {
        _ = receive(received.count) { room in
            room.copyMemory(from: received)
            return received.count
        }
    }

    private mutating func makeRoom(_ most: Int) {
        let needed = pending + most
        let isExcessive = room.count > max(needed, Self.keptCapacity)
        guard start > 0 || room.count < needed || isExcessive else { return }
        let waiting = UnsafeRawBufferPointer(rebasing: room[start..<end])
        if room.count < needed || isExcessive {
            let new = UnsafeMutableRawBufferPointer.allocate(byteCount: needed, alignment: 8)
            new.copyMemory(from: waiting)
            room.deallocate()
            room = new
        } else {
            room.copyMemory(from: waiting)
        }
        (start, end) = (0, waiting.count)
    }

    /// Calls `body` with each whole frame. Its memory lives until `body` returns.
    ///
    /// - Throws: What is wrong with a frame, as soon as its header is there, or what `body` throws.
    package mutating func drain(_ body: (Frame) throws(ProtocolError) -> Void) throws(ProtocolError) {
        while let (kind, id, length) = try header() {
            let from = start + Frame.headerSize
            guard end - from >= length else { return }
            start = from + length
            try body(Frame(kind: kind, id: id, body: UnsafeRawBufferPointer(rebasing: room[from..<start])))
        }
    }

    private func header() throws(ProtocolError) -> (kind: FrameKind, id: UInt64, length: Int)? {
        guard pending >= Frame.headerSize else { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: room[start..<end])
        let length = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        let number = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let id = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        guard let word = UInt16(exactly: number), let kind = FrameKind(rawValue: word) else {
            throw .unknownKind(number)
        }
        guard Int(word) < isTaken.count, isTaken[Int(word)] else { throw .unexpected(kind) }
        guard length <= kind.limit else { throw .tooLong(kind, bytes: Int(length)) }
        return (kind, id, Int(length))
    }
}
