import Cipher
import Foundation
import Notifications

/// What the app gets (seed 001): an alert that its extension replaces, and beside it
///
/// - `i`: which account it is for, from the URL,
/// - `m`: the body as it came, in base64url with padding,
/// - `s` and `k`: salt and sender's key, in base64url without padding,
/// - `e`: `aes128gcm` where the body is of that coding (RFC 8291). Salt and key are in the body too then, so that it can be
///   decrypted as it is. Without `e` it is `aesgcm`, as it always was.
///
/// A message that nobody could decrypt, or that does not fit into a notification, is the alert with `i` alone.
struct PushPayload {
    /// Apple's limit, in bytes (“Generating a remote notification”).
    static let limit = 4096
    /// What a plugin may write differently than we count.
    private static let margin = 64
    /// The longest body that can fit whatever stands around it, in bytes.
    static let longestBody = limit / 4 * 3

    /// What the rules' signals are for events; nothing that an app sees.
    private static let signal = Signal(rawValue: "push")

    private let alert: String

    /// `locKey` is a key of the app's `Localizable.strings`.
    init(locKey: String) {
        alert = Self.json(["alert": JSON.object(["loc-key": .text(locKey)]), "mutable-content": .number(1)])
    }

    func notification(for id: String, _ message: EncryptedMessage?, _ terms: MessageTerms) -> Notifications.Notification
    {
        var members: [String: JSON] = ["i": .text(id)]
        let plain = Self.json(members)
        if let message {
            members["m"] = .text(Base64URL.encodePadded(message.body))
            members["s"] = .text(Base64URL.encode(message.salt))
            members["k"] = .text(Base64URL.encode(message.senderKey))
            if message.coding != .aesgcm { members["e"] = .text(message.coding.rawValue) }
        }
        let whole = Self.json(members)
        return Notifications.Notification(
            mode: .alert,
            signal: Self.signal,
            urgency: terms.urgency,
            data: fits(whole) ? whole : plain,
            native: ["ios": alert],
            expiresAt: terms.expiresAt
        )
    }

    /// Whether `{"aps":…,` and the members of `data` stay below the limit.
    private func fits(_ data: String) -> Bool {
        alert.utf8.count + data.utf8.count + Self.margin <= Self.limit
    }

    private enum JSON: Encodable {
        case text(String)
        case number(Int)
        case object([String: JSON])

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            case .object(let members): try container.encode(members)
            }
        }
    }

    /// Texts and numbers can always be written.
    private static func json(_ members: [String: JSON]) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(members)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
