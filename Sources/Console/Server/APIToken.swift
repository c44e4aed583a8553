import Cipher

/// The secret that opens the API.
package struct APIToken: Sendable, Concealed {
    /// A shorter one could be guessed.
    package static let leastBytes = 16

    private let bytes: [UInt8]

    /// Nil when `text` is too short, or holds what a header cannot (RFC 6750 section 2.1).
    package init?(_ text: String) {
        guard text.utf8.count >= Self.leastBytes, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        bytes = Array(text.utf8)
    }

    /// A new one of 256 random bits, as text.
    package static func make(random: RandomBytes) -> String { Base64URL.encode(random(32)) }

    /// SHA-256 of it, in base64url.
    package var digest: String { Self.digest(of: bytes) }

    /// The same of any text. A token has 256 random bits, so that nothing is gained by a slow hash.
    package static func digest(of text: String) -> String { digest(of: Array(text.utf8)) }

    private static func digest(of bytes: [UInt8]) -> String { Base64URL.encode(SHA256.hash(bytes)) }

    /// Whether `credentials` are it. Takes the same time wherever they differ.
    package func opens(_ credentials: String) -> Bool { ConstantTime.areEqual(Array(credentials.utf8), bytes) }
}
