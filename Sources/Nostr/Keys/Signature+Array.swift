extension Signature {
    /// Takes exactly 64 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard
            bytes.count == 64,
            let first = Bytes32(bytes: bytes.prefix(32)),
            let second = Bytes32(bytes: bytes.dropFirst(32))
        else {
            return nil
        }
        self.init(first: first, second: second)
    }

    /// The bytes in an array of their own.
    package var array: [UInt8] {
        self.first.array + self.second.array
    }
}
