import Cipher
package import PluginKit
import Units

/// The value of `TTL` (RFC 8030 section 5.2), in seconds.
package enum TimeToLive {
    /// A day.
    private static let standard: Duration = .days(1)
    /// The longest that push services keep a message: four weeks.
    package static let longest: Duration = .days(28)

    /// The time from `now` to `expiresAt`; 0 means one attempt.
    package static func seconds(until expiresAt: Timestamp?, now: Timestamp) -> Int64 {
        guard let expiresAt else { return standard.seconds }
        return min(max(.zero, expiresAt - now), longest).seconds
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
