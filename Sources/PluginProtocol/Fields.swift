import CarillonABI

/// Builds frames, one behind the other, in memory of its own: numbers in little endian, texts behind their length.
///
/// Unchecked: nobody else has the memory.
package struct FrameWriter: ~Copyable, @unchecked Sendable {
    private static let leastRoom = 256

    /// The frames so far, and room for more: so that a field needs one look at the room and one copy.
    private var room: UnsafeMutableRawPointer
    private var capacity: Int
    private var isOwner: Bool
    /// Bytes of the frames so far.
    package private(set) var count = 0

    package init() { self.init(reserving: Self.leastRoom) }

    /// A writer with room for so many bytes.
    package init(reserving bytes: Int) {
        capacity = max(Self.leastRoom, bytes)
        room = .allocate(byteCount: capacity, alignment: 8)
        isOwner = true
    }

    private init(borrowing room: UnsafeMutableRawBufferPointer, _ start: UnsafeMutableRawPointer) {
        self.room = start
        capacity = room.count
        isOwner = false
    }

    deinit { if isOwner { room.deallocate() } }

    /// A frame alone, whose body `body` writes. Nil: it is longer than it may be. `bytes`: what it usually takes.
    package static func frame(
        _ kind: FrameKind,
        id: UInt64,
        usually bytes: Int = 1024,
        _ body: (inout FrameWriter) -> Void
    ) -> [UInt8]? {
        // On the stack, as long as it fits.
        withUnsafeTemporaryAllocation(byteCount: bytes, alignment: 8) { room in
            write(into: room) { $0.frame(kind, id: id, body) ? $0.bytes : nil }
        }
    }

    /// Lends a writer that writes into `room` as long as that suffices, and else into memory of its own.
    package static func write<Result>(
        into room: UnsafeMutableRawBufferPointer,
        _ body: (inout FrameWriter) -> Result
    ) -> Result {
        var writer = room.baseAddress.map { FrameWriter(borrowing: room, $0) } ?? FrameWriter()
        return body(&writer)
    }

    /// The frames so far.
    package var bytes: [UInt8] { withBytes { Array($0) } }

    /// Lends the frames so far.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(start: room, count: count))
    }

    /// Keeps the room and forgets the frames.
    package mutating func removeAll() { count = 0 }

    /// Forgets the first `bytes` of the frames.
    package mutating func removeFirst(_ bytes: Int) {
        precondition(bytes >= 0 && bytes <= count, "there are not so many bytes")
        count -= bytes
        room.copyMemory(from: room + bytes, byteCount: count)
    }

    /// Takes the frames, and leaves none.
    package mutating func take() -> [UInt8] {
        defer { count = 0 }
        return bytes
    }

    /// Adds frames that are whole.
    package mutating func append(_ frames: [UInt8]) { frames.withUnsafeBytes { add($0) } }

    /// Adds a frame whose body `body` writes. False: the body is longer than its kind may be, and nothing is added.
    @discardableResult
    package mutating func frame(
        _ kind: FrameKind,
        id: UInt64,
        _ body: (inout FrameWriter) -> Void = { _ in }
    ) -> Bool {
        let start = count
        number(UInt32(0))
        number(UInt32(kind.rawValue))
        number(id)
        body(&self)
        let length = count - start - Frame.headerSize
        guard length <= kind.limit else {
            count = start
            return false
        }
        room.storeBytes(of: UInt32(length).littleEndian, toByteOffset: start, as: UInt32.self)
        return true
    }

    @inline(never)
    private mutating func grow(by bytes: Int) {
        let larger = max(2 * capacity, count + bytes)
        let new = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
        new.copyMemory(from: room, byteCount: count)
        if isOwner { room.deallocate() }
        (room, capacity, isOwner) = (new, larger, true)
    }

    private mutating func reserve(_ bytes: Int) { if capacity - count < bytes { grow(by: bytes) } }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        reserve(bytes.count)
        (room + count).copyMemory(from: start, byteCount: bytes.count)
        count += bytes.count
    }

    /// Adds a number of 32 bits.
    package mutating func number(_ value: UInt32) {
        reserve(4)
        room.storeBytes(of: value.littleEndian, toByteOffset: count, as: UInt32.self)
        count += 4
    }

    /// Adds a number of 64 bits.
    package mutating func number(_ value: UInt64) {
        reserve(8)
        room.storeBytes(of: value.littleEndian, toByteOffset: count, as: UInt64.self)
        count += 8
    }

    /// Adds a text or bytes behind their length; NULL is an empty text.
    package mutating func text(_ text: carillon_bytes) {
        let length = text.ptr == nil ? 0 : max(0, text.len)
        reserve(4 + length)
        number(UInt32(clamping: length))
        if length > 0 { add(UnsafeRawBufferPointer(start: text.ptr, count: length)) }
    }

    /// Adds bytes behind their length.
    package mutating func text(_ text: [UInt8]) {
        number(UInt32(clamping: text.count))
        append(text)
    }

    /// Adds a text behind its length.
    package mutating func text(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            number(UInt32(clamping: utf8.count))
            add(UnsafeRawBufferPointer(utf8))
        }
    }

    /// A list of texts.
    package mutating func texts(_ start: UnsafePointer<carillon_str>?, count: Int) {
        let texts = UnsafeBufferPointer(start: start, count: start == nil ? 0 : max(0, count))
        number(UInt32(clamping: texts.count))
        for text in texts { self.text(text) }
    }

    /// A status of the ABI.
    package mutating func status(_ status: carillon_status) { number(UInt32(bitPattern: status.rawValue)) }

    /// A list of texts in pairs: names and values.
    package mutating func pairs(_ start: UnsafePointer<carillon_field>?, count: Int) {
        let fields = UnsafeBufferPointer(start: start, count: start == nil ? 0 : max(0, count))
        number(UInt32(clamping: fields.count))
        for field in fields {
            text(field.name)
            text(field.value)
        }
    }
}

/// Reads a frame's fields one after the other, where they lie. It checks each length against the body's end, and each
/// count against a limit before anything is reserved.
package struct FieldReader {
    /// What is left of the body.
    private var start: UnsafeRawPointer?
    private var left: Int

    /// A reader of `body`, whose memory must outlive what is read.
    package init(_ body: UnsafeRawBufferPointer) {
        start = body.baseAddress
        left = body.count
    }

    private mutating func bytes(_ count: Int) throws(ProtocolError) -> UnsafeRawPointer {
        guard let first = start, count <= left else { throw .cutShort }
        start = first + count
        left -= count
        return first
    }

    /// A number of 32 bits.
    package mutating func number32() throws(ProtocolError) -> UInt32 {
        UInt32(littleEndian: try bytes(4).loadUnaligned(as: UInt32.self))
    }

    /// A number of 64 bits.
    package mutating func number64() throws(ProtocolError) -> UInt64 {
        UInt64(littleEndian: try bytes(8).loadUnaligned(as: UInt64.self))
    }

    /// A count of at most `limit`.
    package mutating func count(limit: Int) throws(ProtocolError) -> Int {
        let count = Int(try number32())
        guard count <= limit else { throw .tooMany }
        return count
    }

    /// A text where it lies; the one who reads it checks whether it is UTF-8.
    package mutating func text() throws(ProtocolError) -> carillon_str {
        let length = Int(try number32())
        return length == 0 ? carillon_str(ptr: nil, len: 0) : carillon_str(ptr: try bytes(length), len: length)
    }

    /// A text of our own; broken UTF-8 becomes U+FFFD.
    package mutating func string() throws(ProtocolError) -> String {
        let text = try text()
        return String(decoding: UnsafeRawBufferPointer(start: text.ptr, count: text.len), as: UTF8.self)
    }

    /// A list of at most `limit` texts, where they lie.
    package mutating func texts(limit: Int) throws(ProtocolError) -> [carillon_str] {
        let count = try count(limit: limit)
        var texts: [carillon_str] = []
        texts.reserveCapacity(count)
        for _ in 0..<count { texts.append(try text()) }
        return texts
    }

    /// A status of the ABI.
    package mutating func status() throws(ProtocolError) -> carillon_status {
        guard let status = carillon_status(rawValue: Int32(bitPattern: try number32())) else { throw .unknownValue }
        return status
    }

    /// Goes beyond a list of at most `limit` names and values. Returns where it lies.
    package mutating func pairs(limit: Int) throws(ProtocolError) -> FieldPairs {
        let count = try count(limit: limit)
        let pairs = FieldPairs(count: count, reader: self)
        for _ in 0..<(2 * count) { _ = try text() }
        return pairs
    }

    /// Throws unless the whole body has been read.
    package func end(_ kind: FrameKind) throws(ProtocolError) {
        guard left == 0 else { throw .malformed(kind) }
    }
}

/// Names and values where they lie in a frame, each of which has been looked at.
package struct FieldPairs {
    package let count: Int
    private let reader: FieldReader

    fileprivate init(count: Int, reader: FieldReader) {
        self.count = count
        self.reader = reader
    }

    /// Lends them as the ABI has them, for the time of `body`.
    package func lend<Result>(_ body: (UnsafePointer<carillon_field>?, Int) -> Result) -> Result {
        guard count > 0 else { return body(nil, 0) }
        return withUnsafeTemporaryAllocation(of: carillon_field.self, capacity: count) { room in
            write(to: room)
            return body(room.baseAddress, count)
        }
    }

    /// The same in memory of their own; the texts stay where they are.
    package var all: [carillon_field] {
        Array(unsafeUninitializedCapacity: count) { room, size in
            write(to: room)
            size = count
        }
    }

    private func write(to room: UnsafeMutableBufferPointer<carillon_field>) {
        var reader = reader
        let empty = carillon_field(name: carillon_str(ptr: nil, len: 0), value: carillon_str(ptr: nil, len: 0))
        for index in 0..<count {
            // They were read once, and so can be again.
            let field = try? carillon_field(name: reader.text(), value: reader.text())
            room.initializeElement(at: index, to: field ?? empty)
        }
    }
}
