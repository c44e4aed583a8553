import Cipher
import Foundation
import Testing

/// The files in `WebPushVectors`, their bytes in base64url.
enum WebPushVectors {
    struct RFC8188: Decodable {
        let key: String
        let keyid: String
        let salt: String
        let rs: UInt32
        let pad: Int?
        let plaintext_utf8: String
        let CEK: String?
        let NONCE: String?
        let body: String
    }

    struct RFC8291: Decodable {
        let plaintext: String
        let as_public: String
        let as_private: String
        let ua_public: String
        let ua_private: String
        let salt: String
        let auth_secret: String
        let rs: UInt32
        let ecdh_secret: String
        let PRK_key: String
        let key_info: String
        let IKM: String
        let CEK: String
        let NONCE: String
        let header: String
        let body: String
    }

    struct HTTPECE: Decodable {
        struct Message: Decodable {
            let as_private: String
            let salt: String
            let plaintext: String
            let body: String
        }

        struct Content: Decodable {
            let key: String
            let keyid: String
            let salt: String
            let rs: UInt32
            let plaintext: String
            let body: String
        }

        let web_push: [Message]
        let content: [Content]
    }

    static func rfc8188() throws -> [RFC8188] {
        try self.decode([RFC8188].self, "rfc8188-vectors.json")
    }

    static func rfc8291() throws -> RFC8291 {
        try self.decode(RFC8291.self, "rfc8291-vector.json")
    }

    static func httpECE() throws -> HTTPECE {
        try self.decode(HTTPECE.self, "http-ece-messages.json")
    }

    /// Returns the bytes that a string of these files encodes.
    static func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64URL.decode(text))
    }

    private static func decode<Content: Decodable>(_ type: Content.Type, _ name: String) throws -> Content {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/WebPush/\(name)")
        return try JSONDecoder().decode(type, from: Data(contentsOf: url))
    }
}
