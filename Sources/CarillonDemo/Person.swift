import Cipher
import Foundation
import Nostr
import Units

/// A person on Nostr with new keys.
struct Person {
    let name: String
    let keys: KeyPair

    init(_ name: String) throws {
        self.name = name
        keys = try KeyPair(random: SecureRandom.bytes)
    }

    var hex: String { keys.publicKey.hex }

    /// Signs an event, dated `age` back.
    func event(_ kind: Kind, age: Duration = .zero, tags: [[String]] = [], content: String = "") throws -> Event {
        try Event.signed(
            kind: kind,
            createdAt: Timestamp.now().seconds - age.seconds,
            tags: tags,
            content: content,
            by: keys
        )
    }

    /// Kind 0: the person's name.
    func profile() throws -> Event {
        try event(.profile, content: #"{"name":"\#(name)"}"#)
    }

    /// Encrypts a text for the owner of `reader` (NIP-44).
    func encrypt(_ text: String, to reader: PublicKey) throws -> String {
        let key = try ConversationKey(secret: keys.secret, public: reader)
        return try NIP44.encrypt(text, key: key, nonce: SecureRandom.bytes(NIP44.nonceByteCount))
    }

    /// Decrypts a text of `writer` for this person (NIP-44).
    func decrypt(_ text: String, from writer: PublicKey) throws -> String {
        try NIP44.decryptText(text, key: try ConversationKey(secret: keys.secret, public: writer))
    }
}

/// A direct message by NIP-17: a message in a seal (kind 13) in a gift wrap (kind 1059), which hides its author.
enum GiftWrap {
    /// Gift wraps are backdated at random by up to two days.
    private static let longestBackdating: Int64 = 2 * 24 * 60 * 60

    static func event(around text: String, from sender: Person, to reader: PublicKey) throws -> Event {
        let message = try sender.event(.chatMessage, tags: [["p", reader.hex]], content: text)
        let seal = try sender.event(Kind(13), content: try sender.encrypt(unsigned(message), to: reader))
        let nobody = try Person("")
        return try Event.signed(
            kind: .giftWrap,
            createdAt: Timestamp.now().seconds - Int64.random(in: 0...longestBackdating),
            tags: [["p", reader.hex]],
            content: try nobody.encrypt(String(decoding: seal.json, as: UTF8.self), to: reader),
            by: nobody.keys
        )
    }

    /// The message without its signature, so that nobody can prove who wrote it (NIP-59, "rumor").
    private static func unsigned(_ event: Event) throws -> String {
        guard var object = try JSONSerialization.jsonObject(with: Data(event.json)) as? [String: Any] else {
            throw DemoError("an event is no JSON object")
        }
        object["sig"] = nil
        return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }
}
