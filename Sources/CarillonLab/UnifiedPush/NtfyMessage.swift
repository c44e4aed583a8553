import Cipher
import Foundation

/// What ntfy answers to a message it took.
struct NtfyMessage: Encodable {
    var id: String
    /// Seconds since 1970.
    var time: Int64
    /// Seconds since 1970.
    var expires: Int64
    var event = "message"
    var topic: String
    var message: String
    /// "base64" for a message that is no text.
    var encoding: String?

    /// ntfy keeps messages for 12 hours.
    private static let lifetimeSeconds: Int64 = 12 * 3_600

    init(topic: String, body: [UInt8], isUnifiedPush: Bool, now: Int64, random: RandomBytes) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        id = String(random(12).map { alphabet[Int($0) % alphabet.count] })
        time = now
        expires = now + Self.lifetimeSeconds
        self.topic = topic
        let text = String(validating: body, as: UTF8.self)
        message = text ?? Base64.encode(body)
        encoding = text == nil ? "base64" : nil
        if !isUnifiedPush {
            message = message.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        if message.isEmpty {
            message = "triggered"
        }
    }

    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
