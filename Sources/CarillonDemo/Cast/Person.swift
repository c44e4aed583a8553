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

    /// Signs an event of this moment.
    func event(_ kind: Kind, tags: [[String]] = [], content: String = "") throws -> Event {
        try Event.signed(
            kind: kind,
            createdAt: Int64(Date().timeIntervalSince1970),
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
}
