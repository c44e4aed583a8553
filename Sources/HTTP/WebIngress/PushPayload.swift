import Cipher
import Core
import Foundation
import Push

/// The platform of the sealed ingress.
package struct IngressPlatform: Sendable, Hashable {
    /// The platform's name, which is the key of a notification's native block.
    package let name: String
    /// The block of every push, as JSON; `{{loc_key}}` in a text is replaced by a key of the app's texts.
    package let block: String
    /// The largest payload.
    package let limit: ByteCount

    package init(name: String, block: String, limit: ByteCount) {
        self.name = name
        self.block = block
        self.limit = limit
    }
}

/// The payload for the app: the platform's block, such as an alert that the app's extension replaces, and these
/// members:
///
/// - `i`: the account that it is for, from the URL,
/// - `m`: the unchanged body, in base64url with padding,
/// - `s` and `k`: salt and sender's key, in base64url without padding,
/// - `e`: `aes128gcm` if the body has that coding (RFC 8291). The body then also holds salt and key, so that it can be
///   decrypted unchanged. Without `e` the coding is `aesgcm`, for compatibility.
///
/// For a message that cannot be decrypted, or does not fit into a notification, the payload is the block with only `i`.
struct PushPayload {
    /// A plugin's encoding may be up to this many bytes longer than ours.
    private static let margin = 64
    /// The signal of all pushes; apps do not see it.
    private static let signal = Signal(rawValue: "push")

    private let platform: IngressPlatform
    private let block: String

    /// `locKey` is a key of the app's texts.
    init(_ platform: IngressPlatform, locKey: String) {
        self.platform = platform
        block = platform.block.replacing("{{loc_key}}", with: Self.json(locKey).dropFirst().dropLast())
    }

    /// The longest body in bytes that fits into any block.
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

    /// Whether a payload of the block and the members of `data` fits into the limit.
    private func fits(_ data: String) -> Bool {
        block.utf8.count + data.utf8.count + Self.margin <= platform.limit.bytes
    }

    /// Encoding text cannot fail.
    private static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
