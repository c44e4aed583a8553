import Cipher
import Foundation
import Nostr
import Testing

/// The parts of `nip44.vectors.json` that are used, named as there.
struct NIP44Vectors: Decodable {
    struct Version2: Decodable {
        let valid: Valid
        let invalid: Invalid
    }

    struct Valid: Decodable {
        let get_conversation_key: [Conversation]
        let get_message_keys: MessageKeysOfOneConversation
        let calc_padded_len: [[Int]]
        let encrypt_decrypt: [Message]
        let encrypt_decrypt_long_msg: [LongMessage]
    }

    struct Invalid: Decodable {
        let encrypt_msg_lengths: [Int]
        let get_conversation_key: [Refused]
        let decrypt: [Undecryptable]
    }

    struct Conversation: Decodable {
        let sec1: String
        let pub2: String
        let conversation_key: String
    }

    struct MessageKeysOfOneConversation: Decodable {
        struct Keys: Decodable {
            let nonce: String
            let chacha_key: String
            let chacha_nonce: String
            let hmac_key: String
        }

        let conversation_key: String
        let keys: [Keys]
    }

    struct Message: Decodable {
        let sec1: String
        let sec2: String
        let conversation_key: String
        let nonce: String
        let plaintext: String
        let payload: String
    }

    struct LongMessage: Decodable {
        let conversation_key: String
        let nonce: String
        let pattern: String
        let `repeat`: Int
        let plaintext_sha256: String
        let payload_sha256: String

        var plaintext: String {
            String(repeating: self.pattern, count: self.repeat)
        }
    }

    struct Refused: Decodable {
        let sec1: String
        let pub2: String
        let note: String
    }

    struct Undecryptable: Decodable {
        let conversation_key: String
        let payload: String
        let note: String
    }

    struct ExtendedPrefix: Decodable {
        struct Vector: Decodable {
            let conversation_key: String
            let nonce: String
            let pattern: String
            let `repeat`: Int
            let padded_len: Int
            let plaintext_sha256: String
            let payload_sha256: String
        }

        let vectors: [Vector]
    }

    let v2: Version2

    static func load() throws -> Version2 {
        try self.decode(NIP44Vectors.self, "nip44.vectors.json").v2
    }

    static func loadExtendedPrefix() throws -> [ExtendedPrefix.Vector] {
        try self.decode(ExtendedPrefix.self, "nip44-extended-prefix-vectors.json").vectors
    }

    private static func decode<Content: Decodable>(_ type: Content.Type, _ name: String) throws -> Content {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/\(name)")
        return try JSONDecoder().decode(type, from: Data(contentsOf: url))
    }
}
