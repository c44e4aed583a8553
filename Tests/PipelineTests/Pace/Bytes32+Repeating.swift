import Nostr

extension Bytes32 {
    init(repeating byte: UInt8) {
        let word = UInt64(byte) * 0x0101_0101_0101_0101
        self.init(words: (word, word, word, word))
    }
}
