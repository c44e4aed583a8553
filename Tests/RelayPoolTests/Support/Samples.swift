import Nostr

extension PublicKey {
    static func sample(_ number: Int) -> PublicKey {
        PublicKey(Bytes32(words: (1, 2, 3, UInt64(number).byteSwapped)))
    }
}

extension Event {
    /// An event whose id and signature are made up; the session does not verify.
    static func sample(
        _ number: Int,
        _ kind: Kind = .textNote,
        to key: PublicKey? = nil,
        by author: PublicKey = .sample(999_999),
        at seconds: Int64,
        tags: [[String]] = []
    ) -> Event {
        let zero = Bytes32(words: (0, 0, 0, 0))
        return Event(
            id: EventID(Bytes32(words: (7, 7, 7, UInt64(number).byteSwapped))),
            pubkey: author,
            createdAt: seconds,
            kind: kind,
            tags: (key.map { [["p", $0.hex]] } ?? []) + tags,
            content: "",
            signature: Signature(first: zero, second: zero)
        )
    }
}

/// Chance that can be repeated.
struct Dice {
    var state: UInt64

    mutating func roll(_ sides: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % sides
    }
}
