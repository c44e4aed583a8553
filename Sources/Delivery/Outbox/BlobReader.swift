/// Reads what ``BlobWriter`` writes from bytes that may be anything at all.
struct BlobReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    /// `bytes` must outlive the reader.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var remaining: Int { bytes.count - offset }

    mutating func byte() throws(NotificationBlobError) -> UInt8 {
        guard offset < bytes.count else { throw .truncated(offset: offset) }
        defer { offset += 1 }
        return bytes[offset]
    }

    mutating func integer() throws(NotificationBlobError) -> UInt64 {
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

    /// A number of things of which each takes at least one byte: never more than bytes are left.
    mutating func count() throws(NotificationBlobError) -> Int {
        let start = offset
        let value = try integer()
        guard value <= UInt64(remaining) else { throw .truncated(offset: start) }
        return Int(value)
    }

    mutating func text() throws(NotificationBlobError) -> String {
        let length = try count()
        guard length > 0 else { return "" }
        let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
        guard let text = String(validating: slice, as: UTF8.self) else { throw .invalidUTF8(offset: offset) }
        offset += length
        return text
    }
}
