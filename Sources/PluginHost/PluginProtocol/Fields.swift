import CarillonABI

/// A writer of consecutive frames. Numbers are little-endian; strings follow their length.
package struct FrameWriter: Sendable {
    /// The frames so far.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// A writer that reserves capacity for `count` bytes.
    package init(reserving count: Int) { bytes.reserveCapacity(count) }

    /// Returns a single frame whose body `body` writes. Nil if the body exceeds its kind's limit.
    package static func frame(_ kind: FrameKind, id: UInt64, _ body: (inout FrameWriter) -> Void) -> [UInt8]? {
        var writer = FrameWriter(reserving: 1024)
        // A copy without spare capacity, because the caller may keep it.
        return writer.frame(kind, id: id, body) ? writer.withBytes { Array($0) } : nil
    }

    /// The length of the frames so far, in bytes.
    package var count: Int { bytes.count }

    /// Calls `body` with the frames so far.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { bytes.withUnsafeBytes(body) }

    /// Removes the frames and keeps the capacity.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Removes the first `count` bytes of the frames.
    package mutating func removeFirst(_ count: Int) { bytes.removeFirst(count) }

    /// Returns the frames and removes them.
    package mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// Adds complete frames.
    package mutating func append(_ frames: [UInt8]) { bytes += frames }

    /// Adds a frame whose body `body` writes. False if the body exceeds its kind's limit; then no byte is added.
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
            bytes.removeLast(count - start)
            return false
        }
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: UInt32(length).littleEndian, toByteOffset: start, as: UInt32.self)
        }
        return true
    }

    package mutating func number(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func number(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Adds a string or bytes after their length; NULL is an empty string.
    package mutating func text(_ text: carillon_bytes) {
        bytes(UnsafeRawBufferPointer(start: text.ptr, count: text.ptr == nil ? 0 : max(0, text.len)))
    }

    /// Adds bytes after their length.
    package mutating func text(_ text: [UInt8]) {
        number(UInt32(clamping: text.count))
        append(text)
    }

    /// Adds a string after its length.
    package mutating func text(_ text: String) {
        // Most strings of a notification are empty.
        guard !text.isEmpty else { return number(UInt32(0)) }
        // In place: a copy of the string would cost reference counting.
        guard text.utf8.withContiguousStorageIfAvailable({ bytes(UnsafeRawBufferPointer($0)) }) == nil else { return }
        var text = text
        text.withUTF8 { bytes(UnsafeRawBufferPointer($0)) }
    }

    /// Adds a constant string after its length.
    package mutating func text(_ text: StaticString) {
        bytes(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Adds bytes after their length.
    package mutating func bytes(_ bytes: UnsafeRawBufferPointer) {
        number(UInt32(clamping: bytes.count))
        self.bytes.append(contentsOf: bytes)
    }

    /// Adds a length and that many bytes, which `body` writes.
    package mutating func bytes(count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        number(UInt32(clamping: count))
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count))
        bytes.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
    }

    /// Adds a list of strings.
    package mutating func texts(_ start: UnsafePointer<carillon_str>?, count: Int) {
        let texts = UnsafeBufferPointer(start: start, count: start == nil ? 0 : max(0, count))
        number(UInt32(clamping: texts.count))
        for text in texts { self.text(text) }
    }

    package mutating func status(_ status: carillon_status) { number(UInt32(bitPattern: status.rawValue)) }

    /// Adds a list of string pairs: names and values.
    package mutating func pairs(_ start: UnsafePointer<carillon_field>?, count: Int) {
        let fields = UnsafeBufferPointer(start: start, count: start == nil ? 0 : max(0, count))
        number(UInt32(clamping: fields.count))
        for field in fields {
            text(field.name)
            text(field.value)
        }
    }
}

/// A reader of a frame's fields that copies no bytes. It checks each length against the body's end, and each count
/// against a limit before it reserves memory.
package struct FieldReader {
    /// The unread part of the body.
    private var start: UnsafeRawPointer?
    private var left: Int

    /// A reader of `body`, whose memory must outlive the values read.
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

    package mutating func number32() throws(ProtocolError) -> UInt32 {
        UInt32(littleEndian: try bytes(4).loadUnaligned(as: UInt32.self))
    }

    package mutating func number64() throws(ProtocolError) -> UInt64 {
        UInt64(littleEndian: try bytes(8).loadUnaligned(as: UInt64.self))
    }

    /// A count of at most `limit`.
    package mutating func count(limit: Int) throws(ProtocolError) -> Int {
        let count = Int(try number32())
        guard count <= limit else { throw .tooMany }
        return count
    }

    /// Reads a string in place. The caller checks whether it is UTF-8.
    package mutating func text() throws(ProtocolError) -> carillon_str {
        let length = Int(try number32())
        return length == 0 ? carillon_str(ptr: nil, len: 0) : carillon_str(ptr: try bytes(length), len: length)
    }

    /// Reads a string as a copy; broken UTF-8 becomes U+FFFD.
    package mutating func string() throws(ProtocolError) -> String {
        let text = try text()
        return String(decoding: UnsafeRawBufferPointer(start: text.ptr, count: text.len), as: UTF8.self)
    }

    /// Reads a list of at most `limit` strings in place.
    package mutating func texts(limit: Int) throws(ProtocolError) -> [carillon_str] {
        let count = try count(limit: limit)
        var texts: [carillon_str] = []
        texts.reserveCapacity(count)
        for _ in 0..<count { texts.append(try text()) }
        return texts
    }

    package mutating func status() throws(ProtocolError) -> carillon_status {
        guard let status = carillon_status(rawValue: Int32(bitPattern: try number32())) else { throw .unknownValue }
        return status
    }

    /// Skips a list of at most `limit` names and values, and returns its position.
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

/// Names and values inside a frame whose lengths have been checked.
package struct FieldPairs {
    package let count: Int
    private let reader: FieldReader

    fileprivate init(count: Int, reader: FieldReader) {
        self.count = count
        self.reader = reader
    }

    /// Calls `body` with the pairs as structs of the ABI, which are valid until `body` returns.
    package func withCStruct<Result>(_ body: (UnsafePointer<carillon_field>?, Int) -> Result) -> Result {
        guard count > 0 else { return body(nil, 0) }
        return withUnsafeTemporaryAllocation(of: carillon_field.self, capacity: count) { room in
            write(to: room)
            return body(room.baseAddress, count)
        }
    }

    /// The pairs as an array; the strings stay in the frame.
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
            // The first pass read these fields without an error, so this one succeeds too.
            let field = try? carillon_field(name: reader.text(), value: reader.text())
            room.initializeElement(at: index, to: field ?? empty)
        }
    }
}
