import Cipher
import Foundation
import Nostr

/// Somebody on Nostr, with fresh keys.
struct Person {
    let name: String
    let keys: KeyPair

    init(_ name: String) throws {
        self.name = name
        keys = try KeyPair(random: SecureRandom.bytes)
    }

    var hex: String { keys.publicKey.hex }

    /// Signs an event, dated `age` seconds back.
    func event(_ kind: Kind, age: Int64 = 0, tags: [[String]] = [], content: String = "") throws -> Event {
        try Event.signed(
            kind: kind,
            createdAt: Int64(Date().timeIntervalSince1970) - age,
            tags: tags,
            content: content,
            by: keys
        )
    }

    /// Kind 0: what others call this person.
    func profile() throws -> Event {
        try event(.profile, content: #"{"name":"\#(name)"}"#)
    }

    /// Encrypts `text` so that only the owner of `reader` reads it (NIP-44).
    func encrypt(_ text: String, to reader: PublicKey) throws -> String {
        let key = try ConversationKey(secret: keys.secret, public: reader)
        return try NIP44.encrypt(text, key: key, nonce: SecureRandom.bytes(NIP44.nonceByteCount))
    }

    /// What `writer` encrypted for this person (NIP-44).
    func decrypt(_ text: String, from writer: PublicKey) throws -> String {
        try NIP44.decryptText(text, key: try ConversationKey(secret: keys.secret, public: writer))
    }
}
