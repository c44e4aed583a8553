import Cipher
import PluginKit

/// The `ios` block of one app.
struct APNsConfiguration: Sendable {
    /// The app's bundle id: `apns-topic`.
    let topic: String
    /// 10 letters and digits, from the developer account's membership page.
    let teamID: String
    /// 10 letters and digits, from the key's page.
    let keyID: String
    /// Signs provider tokens.
    let key: P256PrivateKey
    /// Apple's production servers when the block does not say.
    let origins: Origins

    /// Throws for the first mistake: which key it is under, and what was expected.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: ["topic", "team_id", "key_id", "key_file", "key", "environment", "sandbox"])
        topic = try APNsConfiguration.topic(block)
        teamID = try APNsConfiguration.identifier(block, "team_id", expected: "the team's id, 10 letters and digits")
        keyID = try APNsConfiguration.identifier(block, "key_id", expected: "the key's id, 10 letters and digits")
        key = try APNsConfiguration.signingKey(block)
        origins = try APNsConfiguration.origins(block)
    }

    private static func topic(_ block: JSONObject) throws(PluginError) -> String {
        let expected = "the app's bundle id, such as com.example.app"
        let topic = try block.requiredText("topic", expected: expected)
        let isBundleID =
            (1...255).contains(topic.utf8.count)
            && topic.utf8.allSatisfy { isLetterOrDigit($0) || $0 == 45 || $0 == 46 }
        guard isBundleID else { throw PluginError("topic: expected \(expected)") }
        return topic
    }

    private static func identifier(
        _ block: JSONObject,
        _ name: StaticString,
        expected: String
    ) throws(PluginError) -> String {
        let identifier = try block.requiredText(name, expected: expected)
        guard identifier.utf8.count == 10, identifier.utf8.allSatisfy(isLetterOrDigit) else {
            throw PluginError("\(name): expected \(expected)")
        }
        return identifier
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    private static func signingKey(_ block: JSONObject) throws(PluginError) -> P256PrivateKey {
        let path = try block.text("key_file", expected: "the path of Apple's .p8 file")
        let text = try block.text("key", expected: "the text of Apple's .p8 file")
        switch (path, text) {
        case (let path?, nil):
            return try signingKey(ConfigurationFile.read(path, key: "key_file"), under: "key_file")
        case (nil, let text?):
            return try signingKey(text, under: "key")
        case (nil, nil):
            throw PluginError("key_file: expected the path of Apple's .p8 file, or its text under key; found neither")
        case (.some, .some):
            throw PluginError("key: expected either key_file or key, found both")
        }
    }

    private static func signingKey(_ pem: String, under name: StaticString) throws(PluginError) -> P256PrivateKey {
        do {
            return try P256PrivateKey(pem: pem)
        } catch {
            throw PluginError("\(name): expected Apple's .p8 file, a PEM text with a private key on P-256: \(error)")
        }
    }
}
