extension Bytes32 {
    /// Reads 64 lowercase digits, the only spelling NIP-01 allows.
    package init?(hex: some StringProtocol) {
        let contiguous = hex.utf8.withContiguousStorageIfAvailable { Self(digits: UnsafeRawBufferPointer($0)) }
        guard let bytes = contiguous ?? Array(hex.utf8).withUnsafeBytes({ Self(digits: $0) }) else {
            return nil
        }
        self = bytes
    }

    /// The bytes as 64 lowercase digits.
    package var hex: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(64)
        LowercaseHex.append(self, to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    private init?(digits: UnsafeRawBufferPointer) {
        guard digits.count == 64, let start = digits.baseAddress, let bytes = LowercaseHex.decode(start) else {
            return nil
        }
        self = bytes
    }
}
