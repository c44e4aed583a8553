import Cipher
import PluginKit

/// A Google Cloud service account: the JSON file that Google hands out with a key.
struct ServiceAccount: Sendable {
    /// `client_email`: the account's name.
    let email: String
    /// `private_key_id`.
    let keyID: String
    /// `private_key`: signs assertions.
    let key: RSAPrivateKey
    /// `token_uri`: where assertions are exchanged for access tokens.
    let tokenURL: String
    /// `project_id`; nil when the file does not say.
    let projectID: String?

    /// Throws for the first mistake; `name` is the key of the configuration that the content stands under.
    init(parsing text: String, under name: StaticString) throws(PluginError) {
        let object: JSONObject
        do throws(JSONError) {
            object = try JSONObject(parsing: text)
        } catch {
            throw PluginError("\(name): expected the service account's JSON: \(error)")
        }
        try self.init(object, under: name)
    }

    /// Throws for the first mistake; `name` is the key of the configuration that the content stands under.
    init(_ file: JSONObject, under name: StaticString) throws(PluginError) {
        do throws(PluginError) {
            if let type = try file.text("type", expected: "service_account"), type != "service_account" {
                throw PluginError("type: expected service_account, the file is one of another kind")
            }
            email = try ServiceAccount.word(file, "client_email", expected: "the account's address")
            keyID = try ServiceAccount.word(file, "private_key_id", expected: "the key's id")
            tokenURL = try ServiceAccount.tokenURL(file)
            projectID = try file.text("project_id", expected: "the project's id")
            key = try ServiceAccount.key(file)
        } catch {
            throw PluginError("\(name): \(error)")
        }
    }

    private static func word(
        _ file: JSONObject,
        _ name: StaticString,
        expected: String
    ) throws(PluginError) -> String {
        let word = try file.requiredText(name, expected: expected)
        guard (1...256).contains(word.utf8.count), word.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw PluginError("\(name): expected \(expected)")
        }
        return word
    }

    private static func tokenURL(_ file: JSONObject) throws(PluginError) -> String {
        let expected = "an https URL"
        guard let text = try file.text("token_uri", expected: expected) else {
            return "https://oauth2.googleapis.com/token"
        }
        guard let url = HTTPURL(text), url.isSecure else { throw PluginError("token_uri: expected \(expected)") }
        return text
    }

    private static func key(_ file: JSONObject) throws(PluginError) -> RSAPrivateKey {
        let pem = try file.requiredText("private_key", expected: "a PEM text")
        do {
            return try RSAPrivateKey(pem: pem)
        } catch {
            throw PluginError("private_key: expected a PEM text with an RSA key: \(error)")
        }
    }
}
