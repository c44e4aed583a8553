import Cipher
import Units

/// Secrets that sign messages as Standard Webhooks says (standardwebhooks.com). With several, each signs: while a
/// secret is replaced, receivers with the old one and receivers with the new one both find a signature of theirs.
package struct WebhookSecrets: Sendable, Hashable {
    /// What is wrong with secrets.
    package struct Mistake: Error, Sendable, Hashable, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    /// Receivers try every signature.
    private static let limit = 8
    private static let prefix = "whsec_"
    /// What the specification allows.
    private static let keyLengths = 24...64
    private static let expected =
        "\(prefix) and the base64 of \(keyLengths.lowerBound) to \(keyLengths.upperBound) random bytes"

    private let keys: [[UInt8]]

    package var isEmpty: Bool { keys.isEmpty }

    /// Throws for a text that is no secret, without quoting it.
    package init(_ secrets: [String]) throws(Mistake) {
        guard secrets.count <= Self.limit else {
            throw Mistake(description: "expected at most \(Self.limit) secrets, found \(secrets.count)")
        }
        var keys: [[UInt8]] = []
        for secret in secrets {
            guard secret.hasPrefix(Self.prefix), let key = Base64.decode(String(secret.dropFirst(Self.prefix.count))),
                Self.keyLengths.contains(key.count)
            else { throw Mistake(description: "expected \(Self.expected), found another text") }
            keys.append(key)
        }
        self.keys = keys
    }

    /// The value of `webhook-signature`: a signature of each secret.
    package func signatures(id: String, sentAt: Timestamp, body: [UInt8]) -> String {
        let message = [UInt8]("\(id).\(sentAt.seconds).".utf8) + body
        return keys.map { "v1," + Base64.encode(HMACSHA256.authenticationCode(for: message, key: $0)) }
            .joined(separator: " ")
    }
}
