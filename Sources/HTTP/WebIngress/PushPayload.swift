import Cipher
import Core
import Foundation
import Push

/// The platform that the sealed ingress serves.
package struct IngressPlatform: Sendable, Hashable {
    /// The platform's name, which is the key of a notification's native block.
    package let name: String
    /// The block of every push, as JSON; `{{loc_key}}` in a text stands for a key of the app's texts.
    package let block: String
    /// The largest payload.
    package let limit: ByteCount

    package init(name: String, block: String, limit: ByteCount) {
        self.name = name
        self.block = block
        self.limit = limit
    }
}

/// What the app gets: the platform's block, such as an alert that the app's extension replaces, and beside
/// it
///
/// - `i`: the account that it is for, from the URL,
/// - `m`: the body as it came, in base64url with padding,
/// - `s` and `k`: salt and sender's key, in base64url without padding,
/// - `e`: `aes128gcm` where the body has that coding (RFC 8291). Salt and key are in the body then, too, so that it can
///   be
///   decrypted as it is. Without `e` it is `aesgcm`, as it always was.
///
/// A message that nobody could decrypt, or that does not fit into a notification, is the block with `i` alone.
struct PushPayload {
    /// A plugin may write what we count in more bytes, up to this.
    private static let margin = 64
    /// The signal of all pushes, which no app sees.
    private static let signal = Signal(rawValue: "push")

    private let platform: IngressPlatform
    private let block: String

    /// `locKey` is a key of the app's texts.
    init(_ platform: IngressPlatform, locKey: String) {
        self.platform = platform
        block = platform.block.replacing("{{loc_key}}", with: Self.json(locKey).dropFirst().dropLast())
    }

    /// The longest body that can fit, whatever stands around it, in bytes.
    var longestBody: Int { platform.limit.bytes / 4 * 3 }

    func notification(for id: String, _ message: EncryptedMessage?, _ terms: MessageTerms) -> Push.Notification {
        var members = ["i": id]
        let plain = Self.json(members)
        if let message {
            members["m"] = Base64URL.encodePadded(message.body)
            members["s"] = Base64URL.encode(message.salt)
            members["k"] = Base64URL.encode(message.senderKey)
            if message.coding != .aesgcm { members["e"] = message.coding.rawValue }
        }
        let whole = Self.json(members)
        return Push.Notification(
            mode: .alert,
            signal: Self.signal,
            urgency: terms.urgency,
            data: fits(whole) ? whole : plain,
            native: [platform.name: block],
            expiresAt: terms.expiresAt
        )
    }

    /// Whether a payload of the block and the members of `data` stays below the limit.
    private func fits(_ data: String) -> Bool {
        block.utf8.count + data.utf8.count + Self.margin <= platform.limit.bytes
    }

    /// Texts can always be written.
    private static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
