package import CarillonABI

/// Memory for structs of the ABI and the text they point to; freed with the arena.
package final class ABIArena {
    private var blocks: [UnsafeMutableRawPointer] = []

    package init() {}

    deinit {
        for block in blocks {
            block.deallocate()
        }
    }

    /// The bytes of `text`.
    package func text(_ text: String) -> carillon_str { bytes([UInt8](text.utf8)) }

    /// Any bytes, UTF-8 or not.
    package func bytes(_ bytes: [UInt8]) -> carillon_bytes {
        guard !bytes.isEmpty else { return carillon_bytes() }
        let block = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 1)
        block.copyMemory(from: bytes, byteCount: bytes.count)
        blocks.append(block)
        return carillon_bytes(ptr: block, len: bytes.count)
    }

    /// A pointer to a copy of `values`, which are plain data.
    package func array<Value>(_ values: [Value]) -> UnsafePointer<Value>? {
        guard !values.isEmpty else { return nil }
        let block = UnsafeMutablePointer<Value>.allocate(capacity: values.count)
        block.initialize(from: values, count: values.count)
        blocks.append(UnsafeMutableRawPointer(block))
        return UnsafePointer(block)
    }
}
