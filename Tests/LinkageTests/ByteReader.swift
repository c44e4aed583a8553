/// Reads little-endian integers and NUL-terminated strings from untrusted bytes.
struct ByteReader {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func integer<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) throws -> Value {
        let size = MemoryLayout<Value>.size
        guard offset >= 0, offset <= bytes.count - size else { throw ELFImage.Mistake.truncated }
        return bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | Value($1) }
    }

    func text(at offset: Int) throws -> String {
        guard bytes.indices.contains(offset) else { throw ELFImage.Mistake.truncated }
        return String(decoding: bytes[offset...].prefix { $0 != 0 }, as: UTF8.self)
    }
}
