/// Bytes in a heap block of just their size, so that a sanitizer sees any look beyond them.
func withExactBuffer<Result>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { buffer.deallocate() }
    buffer.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(buffer))
}
