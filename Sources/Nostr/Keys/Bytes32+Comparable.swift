extension Bytes32: Comparable {
    /// The order of the hexadecimal texts: of two events with the same stamp, NIP-01 keeps the one with the lower id.
    package static func < (left: Bytes32, right: Bytes32) -> Bool {
        left.bigEndianWords < right.bigEndianWords
    }

    private var bigEndianWords: (UInt64, UInt64, UInt64, UInt64) {
        (
            UInt64(bigEndian: self.words.0), UInt64(bigEndian: self.words.1), UInt64(bigEndian: self.words.2),
            UInt64(bigEndian: self.words.3)
        )
    }
}
