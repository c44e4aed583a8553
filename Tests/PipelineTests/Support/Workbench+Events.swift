import Cipher
import Core
import Nostr
import Pipeline
import TimeTestSupport

extension Workbench {
    static func keys() throws -> KeyPair { try KeyPair(random: SecureRandom.bytes) }

    /// The content of a device's registration.
    static func content(
        _ signals: [String] = ["dm", "mention", "reply", "reaction", "repost", "follow"],
        mode: String = "alert",
        partners: [PublicKey] = [],
        further: String = ""
    ) -> String {
        let filters = signals.map { "\"\($0)\":true" }.joined(separator: ",")
        let partners = partners.map { "\"\($0.hex)\"" }.joined(separator: ",")
        let token = Hex.encode(SecureRandom.bytes(32))
        return "{\"token\":\"\(token)\",\"platform\":\"ios\",\"mode\":\"\(mode)\",\"filters\":{\(filters)},"
            + "\"partners\":[\(partners)]\(further)}"
    }

    /// A registration event of `keys` for this router.
    func registration(
        of keys: KeyPair,
        _ content: String,
        device: String = "phone",
        secondsAgo: Int64 = 100,
        root: PublicKey? = nil
    ) throws -> Event {
        let key = try ConversationKey(secret: keys.secret, public: identity.publicKey)
        return try Event.signed(
            kind: .pushRegistration,
            createdAt: clock.now().seconds - secondsAgo,
            tags: [["d", identity.publicKey.hex + ":" + device]] + (root.map { [["root_identity", $0.hex]] } ?? []),
            content: NIP44.encrypt(content, key: key, nonce: SecureRandom.bytes(32)),
            by: keys
        )
    }

    /// A fresh account with one device that wants `signals`.
    func account(
        _ signals: [String] = ["dm", "mention", "reply", "reaction", "repost", "follow"],
        mode: String = "alert",
        partners: [PublicKey] = [],
        further: String = ""
    ) throws -> KeyPair {
        let keys = try Self.keys()
        let content = Self.content(signals, mode: mode, partners: partners, further: further)
        _ = submit([try registration(of: keys, content)], from: .feed)
        return keys
    }

    func event(
        _ kind: Kind,
        _ content: String = "",
        tags: [[String]] = [],
        by keys: KeyPair,
        at time: Int64 = time
    ) throws -> Event {
        try Event.signed(kind: kind, createdAt: time, tags: tags, content: content, by: keys)
    }

    /// A gift wrap by a key made for it, dated a day back (NIP-59).
    func wrap(to keys: KeyPair, _ content: String = "x") throws -> Event {
        try event(.giftWrap, content, tags: [["p", keys.publicKey.hex]], by: try Self.keys(), at: Self.time - 86_400)
    }
}
