import Cipher
import PluginKit

/// Apple's name for a broadcast channel: base64. Registrations have it as `channel:<base64>` in place of a device token.
struct ChannelID: Sendable, Hashable {
    static let lengths = 4...256
    /// For errors.
    static let description =
        "channel: and a channel id in base64, of \(lengths.lowerBound) to \(lengths.upperBound) characters"

    private static let prefix: StaticString = "channel:"

    let text: String

    init?(_ text: String) {
        guard ChannelID.lengths.contains(text.utf8.count), Base64.decode(text) != nil else { return nil }
        self.text = text
    }

    /// Nil when the token names no channel, or no possible one.
    init?(token: BorrowedText) {
        guard ChannelID.isNamed(by: token) else { return nil }
        self.init(String(decoding: token.bytes.dropFirst(ChannelID.prefix.utf8CodeUnitCount), as: UTF8.self))
    }

    /// Whether the token is meant to name one.
    static func isNamed(by token: BorrowedText) -> Bool {
        token.bytes.starts(with: UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
    }
}
