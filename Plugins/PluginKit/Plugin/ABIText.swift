internal import CarillonABI

extension carillon_bytes {
    /// Text that lives as long as the library.
    init(_ text: StaticString) {
        self.init(ptr: text.utf8Start, len: text.utf8CodeUnitCount)
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(ptr: bytes.baseAddress, len: bytes.count)
    }
}
