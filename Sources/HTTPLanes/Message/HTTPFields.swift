/// The header fields of a message in one piece of memory: a table of where each ends, then names and values back to back.
///
/// A collection of ``HTTPField`` for whoever wants strings; ``withBytes(_:)`` makes none. What is appended is looked at
/// once, so that nobody has to walk over it again to know ``isWellFormed``.
package struct HTTPFields: Sendable {
    private var memory: [UInt8] = []
    private var room: UInt32 = 0
    private var used: UInt32 = 0

    /// Whether all names are tokens in lower case and no value holds a control character (RFC 9110, sections 5.1 and 5.5).
    package private(set) var isWellFormed = true
    /// Whether names and values are ASCII throughout.
    package private(set) var isASCII = true

    package init() {}

    /// Without fields, with room for `fields` of them and `bytes` of names and values before anything is moved.
    package init(reservingFields fields: Int, bytes: Int) {
        reserve(fields: fields, bytes: bytes)
    }

    package var count: Int { Int(used) }

    /// What names and values take together, in bytes.
    package var byteCount: Int { memory.count - tableSize }

    package mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        if used == room { reserve(fields: Swift.max(8, 2 * count), bytes: Swift.max(256, 2 * byteCount)) }
        let flaws = FieldForm.flaws(ofName: name).union(FieldForm.flaws(ofValue: value))
        isWellFormed = isWellFormed && !flaws.contains(.malformed)
        isASCII = isASCII && !flaws.contains(.notASCII)
        memory.append(contentsOf: name)
        let nameEnd = byteCount
        memory.append(contentsOf: value)
        let valueEnd = byteCount
        let entry = count * 8
        memory.withUnsafeMutableBytes {
            $0.storeBytes(of: UInt32(truncatingIfNeeded: nameEnd), toByteOffset: entry, as: UInt32.self)
            $0.storeBytes(of: UInt32(truncatingIfNeeded: valueEnd), toByteOffset: entry + 4, as: UInt32.self)
        }
        used += 1
    }

    package mutating func append(_ name: String, _ value: String) {
        var (name, value) = (name, value)
        name.withUTF8 { name in
            value.withUTF8 { append(name: name, value: $0) }
        }
    }

    package mutating func removeAll() {
        self = HTTPFields()
    }

    /// Lends names and values as bytes for the time of `body`.
    package func withBytes<Result, Failure: Error>(
        _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try memory.withUnsafeBufferPointer { memory throws(Failure) in
            try body(Bytes(memory: memory, room: Int(room), count: count))
        }
    }

    private var tableSize: Int { Int(room) * 8 }

    private mutating func reserve(fields: Int, bytes: Int) {
        guard fields > room else { return }
        var larger: [UInt8] = []
        larger.reserveCapacity(fields * 8 + Swift.max(bytes, byteCount))
        larger.append(contentsOf: memory[..<(count * 8)])
        larger.append(contentsOf: repeatElement(0, count: (fields - count) * 8))
        larger.append(contentsOf: memory[tableSize...])
        memory = larger
        room = UInt32(truncatingIfNeeded: fields)
    }
}

extension HTTPFields: Hashable {
    package static func == (one: HTTPFields, other: HTTPFields) -> Bool {
        one.used == other.used && one.table.elementsEqual(other.table) && one.texts.elementsEqual(other.texts)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(used)
        for byte in table { hasher.combine(byte) }
        for byte in texts { hasher.combine(byte) }
    }

    private var table: ArraySlice<UInt8> { memory[..<(count * 8)] }
    private var texts: ArraySlice<UInt8> { memory[tableSize...] }
}
