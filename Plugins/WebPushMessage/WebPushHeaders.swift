import Cipher
package import PluginKit

/// The value of `TTL` (RFC 8030 section 5.2), in seconds.
package enum TimeToLive {
    /// A day.
    private static let standard: Int64 = 86_400
    /// The longest that push services keep a message: four weeks.
    package static let longest: Int64 = 2_419_200

    /// The time from `now` to `expiresAt`, both in milliseconds since 1970; 0 means one attempt.
    package static func seconds(until expiresAt: UInt64?, now: Int64) -> Int64 {
        guard let expiresAt else { return standard }
        return min(max(0, (Int64(clamping: expiresAt) - now) / 1000), longest)
    }
}

/// The value of `Topic` (RFC 8030 section 5.4): at most 32 characters of base64url. A message replaces undelivered ones
/// with the same topic.
package enum Topic {
    private static let limit = 32

    /// Made from the key's SHA-256, so that every key fits and none can be read. Nil for an empty key.
    package static func make(_ collapseKey: BorrowedText) -> String? {
        collapseKey.isEmpty ? nil : digest([UInt8](collapseKey.bytes))
    }

    /// The operator's text if it is a valid topic, otherwise its hash. Nil for an empty text.
    package static func make(_ topic: String) -> String? {
        guard !topic.isEmpty else { return nil }
        return topic.utf8.count <= limit && topic.utf8.allSatisfy(isTopicByte) ? topic : digest([UInt8](topic.utf8))
    }

    private static func digest(_ key: [UInt8]) -> String {
        Base64URL.encode([UInt8](SHA256.hash(key).prefix(24)))
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool { byte.isASCIILetterOrDigit || byte.isOne(of: "-_") }
}

extension Urgency {
    /// The value of `Urgency` (RFC 8030 section 5.3). Never `very-low`, which waits for power and Wi-Fi.
    package var headerValue: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}
