extension Bytes32 {
    /// Takes exactly 32 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else {
            return nil
        }
        self.init(words: (0, 0, 0, 0))
        withUnsafeMutableBytes(of: &self.words) { $0.copyBytes(from: bytes) }
    }

    /// The bytes in an array of their own.
    package var array: [UInt8] {
        self.withUnsafeBytes { [UInt8]($0) }
    }

    /// Lends the 32 bytes in place.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self.words, body)
    }
}
