/// Reads what ``BlobWriter`` writes, from bytes that may be anything.
package struct BlobReader {
    private let bytes: UnsafeRawBufferPointer
    package private(set) var offset = 0

    /// `bytes` must outlive the reader.
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Reads bytes that somebody owns.
    package static func reading<Value>(
        _ bytes: [UInt8],
        _ body: (inout BlobReader) throws(BlobError) -> Value
    ) throws(BlobError) -> Value {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(BlobError) -> Value in
                var reader = BlobReader(bytes)
                return try body(&reader)
            }
        }.get()
    }

    package var remaining: Int { bytes.count - offset }

    package mutating func byte() throws(BlobError) -> UInt8 {
        guard offset < bytes.count else { throw .truncated(offset: offset) }
        defer { offset += 1 }
        return bytes[offset]
    }

    package mutating func integer() throws(BlobError) -> UInt64 {
        let start = offset
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try byte()
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || (shift == 63 && bits <= 1) else { throw .invalidValue(field: "integer", offset: start) }
            value |= bits << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    /// A count of items of at least one byte each, so never more than the bytes left.
    package mutating func count() throws(BlobError) -> Int {
        let start = offset
        let value = try integer()
        guard value <= UInt64(remaining) else { throw .truncated(offset: start) }
        return Int(value)
    }

    package mutating func text() throws(BlobError) -> String {
        let length = try count()
        guard length > 0 else { return "" }
        let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
        guard let text = String(validating: slice, as: UTF8.self) else { throw .invalidUTF8(offset: offset) }
        offset += length
        return text
    }

    /// Bytes behind their length. Copied.
    package mutating func blob() throws(BlobError) -> [UInt8] { try fixed(try count()) }

    /// So many bytes. Copied.
    package mutating func fixed(_ length: Int) throws(BlobError) -> [UInt8] {
        guard length >= 0, length <= remaining else { throw .truncated(offset: offset) }
        defer { offset += length }
        return Array(bytes[offset..<offset + length])
    }

    /// An integer of any sign, as ``BlobWriter/write(signed:)`` writes it.
    package mutating func signed() throws(BlobError) -> Int64 { Int64(bitPattern: try integer()) }

    /// An integer of any sign, as ``BlobWriter/write(zigzag:)`` writes it.
    package mutating func zigzag() throws(BlobError) -> Int64 {
        let value = try integer()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    package mutating func flag() throws(BlobError) -> Bool {
        let start = offset
        let byte = try byte()
        guard byte <= 1 else { throw .invalidValue(field: "flag", offset: start) }
        return byte == 1
    }

    /// Throws unless everything was read.
    package func end() throws(BlobError) {
        guard remaining == 0 else { throw .trailingBytes(remaining) }
    }
}

/// Writes integers as LEB128 and texts as their length and UTF-8 bytes.
package struct BlobWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// Begins anew, in the same memory.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    package mutating func write(byte: UInt8) {
        bytes.append(byte)
    }

    package mutating func write(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    package mutating func write(_ text: String) {
        // In place, without a copy of the text that would have to be counted.
        let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { write(text: $0) }
        guard isWritten == nil else { return }
        var text = text
        text.withUTF8 { write(text: $0) }
    }

    @inline(__always)
    private mutating func write(text utf8: UnsafeBufferPointer<UInt8>) {
        write(UInt64(utf8.count))
        bytes.append(contentsOf: utf8)
    }

    /// Bytes behind their length.
    package mutating func write(blob: [UInt8]) {
        write(UInt64(blob.count))
        bytes.append(contentsOf: blob)
    }

    /// Bytes whose number the reader knows.
    package mutating func write(fixed: [UInt8]) { bytes.append(contentsOf: fixed) }

    /// The same of bytes that are lent.
    package mutating func write(fixed: UnsafeRawBufferPointer) { bytes.append(contentsOf: fixed) }

    /// An integer of any sign, short where it is near zero.
    package mutating func write(zigzag value: Int64) { write(UInt64(bitPattern: value << 1 ^ value >> 63)) }

    package mutating func write(signed value: Int64) { write(UInt64(bitPattern: value)) }

    package mutating func write(flag: Bool) { bytes.append(flag ? 1 : 0) }
}

/// Why bytes are not what a ``BlobWriter`` wrote.
package enum BlobError: Error, Equatable, CustomStringConvertible {
    case unknownVersion(UInt8)
    case truncated(offset: Int)
    case invalidValue(field: String, offset: Int)
    case invalidUTF8(offset: Int)
    case trailingBytes(Int)

    package var description: String {
        switch self {
        case .unknownVersion(let version): "data of the unknown format \(version): written by a newer Carillon?"
        case .truncated(let offset): "data ends at byte \(offset), in the middle of a field"
        case .invalidValue(let field, let offset): "data has no valid \(field) at byte \(offset)"
        case .invalidUTF8(let offset): "data has text that is not UTF-8 at byte \(offset)"
        case .trailingBytes(let count): "data is followed by \(count) unexpected bytes"
        }
    }
}
