@testable import Nostr

extension Bytes32 {
    /// Thirty-two times the same byte.
    init(repeating byte: UInt8) {
        let word = UInt64(byte) * 0x0101_0101_0101_0101
        self.init(words: (word, word, word, word))
    }
}

extension PublicKey {
    static let alice = PublicKey(Bytes32(repeating: 0xa1))
    static let bob = PublicKey(Bytes32(repeating: 0xb0))
    static let carol = PublicKey(Bytes32(repeating: 0xca))
}

extension EventID {
    static let first = EventID(Bytes32(repeating: 1))
    static let second = EventID(Bytes32(repeating: 2))
    static let third = EventID(Bytes32(repeating: 3))
}

extension Event {
    /// An event that nobody signed.
    static func sample(
        kind: Kind = .textNote,
        by pubkey: PublicKey = .carol,
        createdAt: Int64 = 1000,
        tags: [[String]] = [],
        content: String = ""
    ) -> Event {
        Event(
            id: .first,
            pubkey: pubkey,
            createdAt: createdAt,
            kind: kind,
            tags: tags,
            content: content,
            signature: Signature(first: Bytes32(repeating: 5), second: Bytes32(repeating: 6))
        )
    }
}
