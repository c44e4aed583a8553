/// Writes a field block's primitives (RFC 7541, section 5) into memory that is large enough.
struct BlockCursor {
    private let start: UnsafeMutablePointer<UInt8>
    private var next: UnsafeMutablePointer<UInt8>
    private let end: UnsafeMutablePointer<UInt8>

    /// Nil without memory.
    init?(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        start = base
        next = base
        end = base + memory.count
    }

    /// How much has been written, in bytes.
    var count: Int { next - start }

    mutating func put(_ byte: UInt8) {
        precondition(next < end, "a field block outgrew its memory")
        next.pointee = byte
        next += 1
    }

    mutating func put(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress else { return }
        precondition(bytes.count <= end - next, "a field block outgrew its memory")
        next.update(from: base, count: bytes.count)
        next += bytes.count
    }

    /// - Parameters:
    ///   - number: What to write.
    ///   - prefix: How many bits of the first byte it may take.
    ///   - pattern: The bits above these.
    mutating func put(_ number: Int, prefix: UInt8, pattern: UInt8) {
        let limit = (1 << Int(prefix)) - 1
        guard number >= limit else { return put(pattern | UInt8(truncatingIfNeeded: number)) }
        put(pattern | UInt8(truncatingIfNeeded: limit))
        var rest = number - limit
        while rest >= 0x80 {
            put(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        put(UInt8(truncatingIfNeeded: rest))
    }

    /// As it is: Huffman's code would save a few bytes of what TLS then spends its time on anyway.
    mutating func put(literal bytes: UnsafeBufferPointer<UInt8>) {
        put(bytes.count, prefix: 7, pattern: 0)
        put(bytes)
    }
}
