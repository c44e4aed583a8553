import Cipher
import PluginKit

/// The value of `collapseKey`, of which FCM keeps the last message only while a device is away, and of a notification's
/// `tag`, which replaces what is shown.
enum CollapseKey {
    static let limit = 64

    /// The key itself where it is short and plain, else its SHA-256 in base64url; nil when there is none.
    static func make(_ key: BorrowedText) -> String? {
        guard !key.isEmpty else { return nil }
        if key.count <= limit, key.bytes.allSatisfy({ (0x21...0x7E).contains($0) }) {
            return key.string
        }
        return Base64URL.encode(SHA256.hash(key.bytes))
    }
}
