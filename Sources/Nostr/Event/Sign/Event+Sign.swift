package import Cipher

extension Event {
    /// Makes an event and signs it (NIP-01). `random` yields the 32 bytes that BIP-340 mixes into the nonce.
    ///
    /// Throws when libsecp256k1 fails, or `random` yields another number of bytes.
    package static func signed(
        kind: Kind,
        createdAt: Int64,
        tags: [[String]] = [],
        content: String = "",
        by keys: KeyPair,
        random: RandomBytes = SecureRandom.bytes
    ) throws -> Event {
        let nothing = Bytes32(words: (0, 0, 0, 0))
        var event = Event(
            id: EventID(nothing),
            pubkey: keys.publicKey,
            createdAt: createdAt,
            kind: kind,
            tags: tags,
            content: content,
            signature: Signature(first: nothing, second: nothing)
        )
        event.id = event.computedID
        event.signature = try keys.sign(event.id, random: random)
        return event
    }
}
