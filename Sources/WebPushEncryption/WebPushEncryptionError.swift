/// Why a message could not be encrypted to a Web Push subscription, or read.
package struct WebPushEncryptionError: Error, Hashable, CustomStringConvertible {
    private enum Code: Hashable {
        case malformedSubscriptionKey(name: String, expected: String)
        case plaintextTooLong(limit: Int)
        case invalidSalt
        case invalidRecordSize
        case invalidKeyIdentifier
        case malformedMessage(expected: String)
        case notAuthentic
    }

    private let code: Code

    private init(_ code: Code) {
        self.code = code
    }

    /// A subscription's key is not as RFC 8291 requires. `name` is its name in the Push API (`p256dh`, `auth`).
    package static func malformedSubscriptionKey(_ name: String, expected: String) -> WebPushEncryptionError {
        WebPushEncryptionError(.malformedSubscriptionKey(name: name, expected: expected))
    }

    /// Plaintext and padding do not fit in one record.
    package static func plaintextTooLong(limit: Int) -> WebPushEncryptionError {
        WebPushEncryptionError(.plaintextTooLong(limit: limit))
    }

    /// A salt is not 16 bytes long.
    package static let invalidSalt = WebPushEncryptionError(.invalidSalt)

    /// A record size leaves no room for a byte of data.
    package static let invalidRecordSize = WebPushEncryptionError(.invalidRecordSize)

    /// A key identifier has more than 255 bytes.
    package static let invalidKeyIdentifier = WebPushEncryptionError(.invalidKeyIdentifier)

    /// A message does not have the form of RFC 8188 or 8291.
    package static func malformedMessage(expected: String) -> WebPushEncryptionError {
        WebPushEncryptionError(.malformedMessage(expected: expected))
    }

    /// A message was encrypted to other keys, or changed in transit.
    package static let notAuthentic = WebPushEncryptionError(.notAuthentic)

    package var description: String {
        switch self.code {
        case .malformedSubscriptionKey(let name, let expected):
            "the subscription's \(name) must be \(expected)"
        case .plaintextTooLong(let limit):
            "the plaintext and its padding must be at most \(limit) bytes to fit in one record; shorten it"
        case .invalidSalt:
            "the salt must be 16 bytes"
        case .invalidRecordSize:
            "the record size must be at least 18"
        case .invalidKeyIdentifier:
            "the key identifier must be at most 255 bytes"
        case .malformedMessage(let expected):
            "the message is not aes128gcm content: expected \(expected)"
        case .notAuthentic:
            "the message does not authenticate: encrypted to other keys, or changed on its way"
        }
    }
}
