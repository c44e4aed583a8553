import CarillonABI

/// Builds frames, one behind the other, in one buffer: numbers in little endian, texts behind their length.
package struct FrameWriter {
    private static let leastRoom = 256

    /// The frames so far, and room for more: so that a field needs one look at the room and one copy.
    private var room: [UInt8] = []
    /// Bytes of the frames so far.
    package private(set) var count = 0

    package init() {}

    /// A writer with room for so many bytes.
    package init(reserving bytes: Int) { grow(by: bytes) }

    /// The frames so far.
    package var bytes: [UInt8] { Array(room[..<count]) }

    /// Lends the frames so far.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        room.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// Keeps the room and forgets the frames.
    package mutating func removeAll() { count = 0 }

    /// Forgets the first `bytes` of the frames.
    package mutating func removeFirst(_ bytes: Int) {
        room.removeFirst(bytes)
        count -= bytes
    }

    /// Takes the frames, and leaves none.
    package mutating func take() -> [UInt8] {
        room.removeLast(room.count - count)
        count = 0
        defer { room = [] }
        return room
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
        room.withUnsafeMutableBytes {
            $0.storeBytes(of: UInt32(length).littleEndian, toByteOffset: start, as: UInt32.self)
        }
        return true
    }

    @inline(never)
    private mutating func grow(by bytes: Int) {
        let (old, end) = (room, count)
        room = Array(unsafeUninitializedCapacity: max(Self.leastRoom, 2 * end, end + bytes)) { new, size in
            new.initialize(repeating: 0)
            old.withUnsafeBufferPointer { old in
                for index in 0..<end { new[index] = old[index] }
            }
            size = new.count
        }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        if room.count - count < bytes.count { grow(by: bytes.count) }
        let start = count
        room.withUnsafeMutableBytes { room in
            UnsafeMutableRawBufferPointer(rebasing: room[start..<start + bytes.count]).copyMemory(from: bytes)
        }
        count += bytes.count
    }

    /// Adds a number of 32 bits.
    package mutating func number(_ value: UInt32) {
        if room.count - count < 4 { grow(by: 4) }
        let start = count
        room.withUnsafeMutableBytes {
            $0.storeBytes(of: value.littleEndian, toByteOffset: start, as: UInt32.self)
        }
        count += 4
    }

    /// Adds a number of 64 bits.
    package mutating func number(_ value: UInt64) {
        if room.count - count < 8 { grow(by: 8) }
        let start = count
        room.withUnsafeMutableBytes {
            $0.storeBytes(of: value.littleEndian, toByteOffset: start, as: UInt64.self)
        }
        count += 8
    }

    /// Adds a text or bytes behind their length; NULL is an empty text.
    package mutating func text(_ text: carillon_bytes) {
        let length = text.ptr == nil ? 0 : max(0, text.len)
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

    /// A list of at most `limit` names and values.
    package mutating func pairs(limit: Int) throws(ProtocolError) -> [carillon_field] {
        let count = try count(limit: limit)
        var fields: [carillon_field] = []
        fields.reserveCapacity(count)
        for _ in 0..<count { fields.append(carillon_field(name: try text(), value: try text())) }
        return fields
    }

    /// Throws unless the whole body has been read.
    package func end(_ kind: FrameKind) throws(ProtocolError) {
        guard left == 0 else { throw .malformed(kind) }
    }
}
