import Cipher
package import PluginKit

/// The value of `Topic` (RFC 8030 section 5.4): at most 32 characters of base64url; a message replaces an undelivered
/// one of the same topic.
package enum Topic {
    private static let limit = 32

    /// Made of the key's SHA-256, so that any key fits and none can be read; nil when there is none.
    package static func make(_ collapseKey: BorrowedText) -> String? {
        collapseKey.isEmpty ? nil : digest([UInt8](collapseKey.bytes))
    }

    /// What the operator wrote where it is a topic already, else made as for other keys; nil for an empty one.
    package static func make(_ topic: String) -> String? {
        guard !topic.isEmpty else { return nil }
        return topic.utf8.count <= limit && topic.utf8.allSatisfy(isTopicByte) ? topic : digest([UInt8](topic.utf8))
    }

    private static func digest(_ key: [UInt8]) -> String {
        Base64URL.encode([UInt8](SHA256.hash(key).prefix(24)))
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
