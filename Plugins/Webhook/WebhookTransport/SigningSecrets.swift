import Cipher
import PluginKit
import Units

/// Secrets that sign messages as Standard Webhooks says (standardwebhooks.com). With several, each signs: while a
/// secret is replaced, receivers with the old one and receivers with the new one both find a signature of theirs.
struct SigningSecrets: Sendable, Hashable {
    /// Receivers try every signature.
    static let limit = 8
    private static let prefix = "whsec_"
    /// What the specification allows.
    private static let keyLengths = 24...64
    private static let expected =
        "\(prefix) and the base64 of \(keyLengths.lowerBound) to \(keyLengths.upperBound) random bytes"

    private let keys: [[UInt8]]

    var isEmpty: Bool { keys.isEmpty }

    /// Throws for a text that is no secret; `name` is where the secrets stand, for the error.
    init(_ secrets: [String], _ name: StaticString) throws(PluginError) {
        guard secrets.count <= SigningSecrets.limit else {
            throw PluginError("\(name): expected at most \(SigningSecrets.limit) secrets, found \(secrets.count)")
        }
        var keys: [[UInt8]] = []
        for secret in secrets {
            guard secret.hasPrefix(SigningSecrets.prefix),
                let key = Base64.decode(String(secret.dropFirst(SigningSecrets.prefix.count))),
                SigningSecrets.keyLengths.contains(key.count)
            else { throw PluginError("\(name): expected \(SigningSecrets.expected), found another text") }
            keys.append(key)
        }
        self.keys = keys
    }

    /// The secrets of a registration, with blanks between them; none without the field.
    init(_ registration: borrowing Registration) throws(PluginError) {
        let secrets = registration.field("secret")?.string.split(separator: " ") ?? []
        try self.init(secrets.map(String.init), "secret")
    }

    /// The value of `webhook-signature`: a signature of each secret.
    func signatures(id: String, sentAt: Timestamp, body: [UInt8]) -> String {
        let message = [UInt8]("\(id).\(sentAt.seconds).".utf8) + body
        return keys.map { "v1," + Base64.encode(HMACSHA256.authenticationCode(for: message, key: $0)) }
            .joined(separator: " ")
    }
}
