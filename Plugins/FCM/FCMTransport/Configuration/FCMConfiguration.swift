import PluginKit

/// The `android` block of one app.
struct FCMConfiguration: Sendable {
    /// Who we are to Google.
    let account: ServiceAccount
    /// The Firebase project's id or number.
    let projectID: String
    /// `https://host[:port]`; Google's servers when the block does not say.
    let origin: String
    /// Whether messages may reach the app before the device is first unlocked, where a rule does not say.
    let isDirectBootOK: Bool

    /// Throws for the first mistake: which key it is under, and what was expected.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(
            except: ["service_account", "service_account_json", "project_id", "origin", "direct_boot_ok"]
        )
        account = try FCMConfiguration.account(block)
        projectID = try FCMConfiguration.projectID(block, account)
        origin = try FCMConfiguration.origin(block)
        isDirectBootOK = try FCMConfiguration.isDirectBootOK(block)
    }

    private static func account(_ block: JSONObject) throws(PluginError) -> ServiceAccount {
        let expected = "the path of the service account's JSON file"
        let path = try block.text("service_account", expected: expected)
        let inline = block["service_account_json"].flatMap { $0.isNull ? nil : $0 }
        switch (path, inline) {
        case (let path?, nil):
            let text = try ConfigurationFile.read(path, key: "service_account")
            return try ServiceAccount(parsing: text, under: "service_account")
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
        // Some old ids begin with a domain and a colon.
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
                "direct_boot_ok: expected true if the app takes messages before the device is first unlocked, else false; "
                    + "found \(value.kind)"
            )
        }
        return isOK
    }

    private static func origin(_ block: JSONObject) throws(PluginError) -> String {
        let expected = "https://host:port"
        guard let text = try block.text("origin", expected: expected) else { return "https://fcm.googleapis.com" }
        guard let url = HTTPURL(text), url.isSecure, url.target.isEmpty else {
            throw PluginError("origin: expected \(expected)")
        }
        return url.origin
    }
}
