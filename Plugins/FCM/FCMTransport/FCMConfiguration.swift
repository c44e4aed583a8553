import Cipher
import PluginKit

/// The configuration block of one app.
struct FCMConfiguration: Sendable {
    let account: ServiceAccount
    /// The Firebase project's id or number.
    let projectID: String
    /// `https://host[:port]`. Default: Google's servers.
    let baseURL: String
    /// The default of `directBootOk`: whether messages may reach the app before the device is first unlocked.
    let isDirectBootOK: Bool

    /// Throws for the first error, with its key and the expected value.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(
            except: ["service_account", "service_account_json", "project_id", "base_url", "direct_boot_ok"]
        )
        account = try FCMConfiguration.account(block)
        projectID = try FCMConfiguration.projectID(block, account)
        baseURL = try FCMConfiguration.baseURL(block)
        isDirectBootOK = try FCMConfiguration.isDirectBootOK(block)
    }

    private static func account(_ block: JSONObject) throws(PluginError) -> ServiceAccount {
        let expected = "the path of the service account's JSON file"
        let file = try block.file("service_account", expected: expected)
        let inline = block["service_account_json"].flatMap { $0.isNull ? nil : $0 }
        switch (file, inline) {
        case (let file?, nil):
            return try ServiceAccount(parsing: file.text(), under: "service_account")
        case (nil, let value?):
            return try account(inline: value)
        case (nil, nil):
            throw PluginError(
                "service_account: expected \(expected), or its content under service_account_json; found neither"
            )
        case (.some, .some):
            throw PluginError("service_account_json: expected either service_account or this, found both")
        }
    }

    private static func account(inline value: JSONValue) throws(PluginError) -> ServiceAccount {
        if let text = value.string {
            return try ServiceAccount(parsing: text, under: "service_account_json")
        }
        guard let object = value.object else {
            throw PluginError(
                "service_account_json: expected the content of the service account's JSON file, found \(value.kind)"
            )
        }
        return try ServiceAccount(object, under: "service_account_json")
    }

    private static func projectID(_ block: JSONObject, _ account: ServiceAccount) throws(PluginError) -> String {
        let expected = "the Firebase project's id, such as my-project-1234, or its number"
        let own = try block.text("project_id", expected: expected)
        guard let id = own ?? account.projectID else {
            throw PluginError("project_id: expected \(expected); found it neither here nor in the service account")
        }
        // Some old ids start with a domain and a colon.
        let isID =
            (1...128).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
        guard isID else { throw PluginError("project_id: expected \(expected)") }
        return id
    }

    private static func isDirectBootOK(_ block: JSONObject) throws(PluginError) -> Bool {
        guard let value = block["direct_boot_ok"], !value.isNull else { return false }
        guard let isOK = value.bool else {
            throw PluginError(
                "direct_boot_ok: expected true if the app accepts messages before the device is first unlocked, else false; "
                    + "found \(value.kind)"
            )
        }
        return isOK
    }

    private static func baseURL(_ block: JSONObject) throws(PluginError) -> String {
        let expected = "https://host:port"
        guard let text = try block.text("base_url", expected: expected) else { return "https://fcm.googleapis.com" }
        guard let url = HTTPURL(text), url.isSecure, url.target.isEmpty else {
            throw PluginError("base_url: expected \(expected)")
        }
        return url.origin
    }
}

/// A Google Cloud service account, from the JSON file that Google issues with a key.
struct ServiceAccount: Sendable {
    /// `client_email`: the account's name.
    let email: String
    /// `private_key_id`.
    let keyID: String
    /// `private_key`: signs assertions.
    let key: RSAPrivateKey
    /// `token_uri`: exchanges assertions for access tokens.
    let tokenURL: String
    /// `project_id`, if the file has one.
    let projectID: String?

    /// Throws for the first error. `name` is the setting that holds the content.
    init(parsing text: String, under name: StaticString) throws(PluginError) {
        let object: JSONObject
        do throws(JSONError) {
            object = try JSONObject(parsing: text)
        } catch {
            throw PluginError("\(name): expected the service account's JSON: \(error)")
        }
        try self.init(object, under: name)
    }

    /// Throws for the first error. `name` is the setting that holds the content.
    init(_ file: JSONObject, under name: StaticString) throws(PluginError) {
        do throws(PluginError) {
            if let type = try file.text("type", expected: "service_account"), type != "service_account" {
                throw PluginError("type: expected service_account, found another kind of file")
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

    private static func word(_ file: JSONObject, _ name: StaticString, expected: String) throws(PluginError) -> String {
        let word = try file.requiredText(name, expected: expected)
        guard (1...256).contains(word.utf8.count), word.utf8.allSatisfy(\.isVisibleASCII) else {
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
