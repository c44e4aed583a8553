import Cipher
import PluginKit

/// The value of `apns-collapse-id`: at most 64 bytes.
enum CollapseID {
    static let limit = 64

    /// The key itself where it fits into a header, else its SHA-256 in base64url; nil when there is none.
    static func make(_ key: BorrowedText) -> String? {
        guard !key.isEmpty else { return nil }
        if key.count <= limit, key.bytes.allSatisfy({ (0x21...0x7E).contains($0) }) {
            return key.string
        }
        return Base64URL.encode(SHA256.hash(key.bytes))
    }
}
