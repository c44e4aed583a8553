import Cipher
import PluginKit

extension APNsConfiguration {
    /// What the block says of the key that signs provider tokens.
    static func token(_ block: JSONObject) throws(PluginError) -> Authentication {
        .token(
            teamID: try identifier(block, "team_id", expected: "the team's id, 10 letters and digits"),
            keyID: try identifier(block, "key_id", expected: "the key's id, 10 letters and digits"),
            key: try signingKey(block)
        )
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
