import Cipher
package import PluginKit

/// The value of `Topic` (RFC 8030 section 5.4): at most 32 characters of base64url; a message replaces an undelivered
/// one of the same topic.
package enum Topic {
    /// Made of the key's SHA-256, so that any key fits and none can be read; nil when there is none.
    package static func make(_ collapseKey: BorrowedText) -> String? {
        guard !collapseKey.isEmpty else { return nil }
        return Base64URL.encode([UInt8](SHA256.hash(collapseKey.bytes).prefix(24)))
    }
}
