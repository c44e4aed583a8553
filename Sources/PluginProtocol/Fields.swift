import CarillonABI

/// Builds frames, one behind the other, in one buffer: numbers in little endian, texts behind their length.
package struct FrameWriter {
    /// The frames so far.
    package private(set) var bytes: [UInt8] = []
    private var start = 0

    package init() {}

    /// Keeps the room and forgets the frames.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Takes the frames, and leaves none.
    package mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// Adds frames that are whole.
    package mutating func append(_ frames: [UInt8]) { bytes += frames }

    /// Adds a frame whose body `body` writes.
    package mutating func frame(_ kind: FrameKind, id: UInt64, _ body: (inout FrameWriter) -> Void = { _ in }) {
        start = bytes.count
        number(UInt32(0))
        number(UInt32(kind.rawValue))
        number(id)
        body(&self)
        let length = UInt32(clamping: bytes.count - start - Frame.headerSize).littleEndian
        withUnsafeBytes(of: length) { length in
            for (offset, byte) in length.enumerated() { bytes[start + offset] = byte }
        }
    }

    package mutating func number(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func number(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func text(_ text: carillon_bytes) {
        let length = text.ptr == nil ? 0 : max(0, text.len)
        number(UInt32(clamping: length))
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: text.ptr, count: length))
    }

    package mutating func text(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            number(UInt32(clamping: utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }

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
    private var rest: UnsafeRawBufferPointer.SubSequence

    package init(_ body: UnsafeRawBufferPointer) { rest = body[...] }

    private mutating func bytes(_ count: Int) throws(ProtocolError) -> UnsafeRawBufferPointer {
        guard count <= rest.count else { throw .cutShort }
        defer { rest = rest.dropFirst(count) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
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

    /// A text where it lies; the one who reads it checks whether it is UTF-8.
    package mutating func text() throws(ProtocolError) -> carillon_str {
        let text = try bytes(Int(try number32()))
        return text.isEmpty ? carillon_str(ptr: nil, len: 0) : carillon_str(ptr: text.baseAddress, len: text.count)
    }

    /// A text of our own; broken UTF-8 becomes U+FFFD.
    package mutating func string() throws(ProtocolError) -> String {
        let text = try text()
        return String(decoding: UnsafeRawBufferPointer(start: text.ptr, count: text.len), as: UTF8.self)
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
        guard rest.isEmpty else { throw .malformed(kind) }
    }
}
