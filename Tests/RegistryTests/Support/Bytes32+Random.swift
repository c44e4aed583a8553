import Nostr

extension Bytes32 {
    init(random generator: inout some RandomNumberGenerator) {
        self.init(words: (generator.next(), generator.next(), generator.next(), generator.next()))
    }

    /// Thirty-two times the same byte.
    init(repeating byte: UInt8) {
        let word = UInt64(byte) &* 0x0101_0101_0101_0101
        self.init(words: (word, word, word, word))
    }
}
