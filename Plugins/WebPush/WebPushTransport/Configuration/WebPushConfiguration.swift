import Cipher
import PluginKit

/// The `web` block of one app.
struct WebPushConfiguration: Sendable {
    /// Signs for the app: browsers got its public half when they subscribed.
    let token: VAPIDToken
    /// What a tap opens when a notification names no URL; nil: nothing, and such a notification is not declarative.
    let navigate: String?
    /// Push services that messages may go to; nil: all.
    let allowedHosts: [HostPattern]?

    private static let howToMakeAKey = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out vapid.pem"

    /// Throws for the first mistake: which key it is under, and what was expected.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: ["vapid_key_file", "vapid_key", "subject", "navigate", "allowed_hosts"])
        token = VAPIDToken(key: try Self.signingKey(block), subject: try Self.subject(block))
        navigate = try Self.navigate(block)
        allowedHosts = try Self.allowedHosts(block)
    }

    private static func signingKey(_ block: JSONObject) throws(PluginError) -> P256PrivateKey {
        let path = try block.text("vapid_key_file", expected: "the path of a private key in PEM")
        let text = try block.text("vapid_key", expected: "the text of a private key in PEM")
        switch (path, text) {
        case (let path?, nil):
            return try signingKey(ConfigurationFile.read(path, key: "vapid_key_file"), under: "vapid_key_file")
        case (nil, let text?):
            return try signingKey(text, under: "vapid_key")
        case (nil, nil):
            throw PluginError(
                "vapid_key_file: expected the path of a private key in PEM, or its text under vapid_key; found neither; "
                    + "to make one: \(howToMakeAKey)"
            )
        case (.some, .some):
            throw PluginError("vapid_key: expected either vapid_key_file or vapid_key, found both")
        }
    }

    private static func signingKey(_ pem: String, under name: StaticString) throws(PluginError) -> P256PrivateKey {
        do {
            return try P256PrivateKey(pem: pem)
        } catch {
            throw PluginError(
                "\(name): expected a PEM text with a private key on P-256: \(error); to make one: \(howToMakeAKey)"
            )
        }
    }

    private static func subject(_ block: JSONObject) throws(PluginError) -> String {
        let expected = "where push services find you, such as mailto:ops@example.com or https://example.com"
        let subject = try block.requiredText("subject", expected: expected)
        guard VAPIDSubject.isValid(subject) else { throw PluginError("subject: expected \(expected)") }
        return subject
    }

    private static func navigate(_ block: JSONObject) throws(PluginError) -> String? {
        let expected =
            "what a tap opens when a notification names no url, an absolute URL such as https://app.example.com/"
        guard let text = try block.text("navigate", expected: expected) else { return nil }
        guard AbsoluteURL.isOne(text) else { throw PluginError("navigate: expected \(expected)") }
        return text
    }

    private static func allowedHosts(_ block: JSONObject) throws(PluginError) -> [HostPattern]? {
        let expected = "a list of hosts such as fcm.googleapis.com or *.push.apple.com"
        guard let value = block["allowed_hosts"], !value.isNull else { return nil }
        guard let elements = value.elements else {
            throw PluginError("allowed_hosts: expected \(expected), found \(value.kind)")
        }
        var patterns: [HostPattern] = []
        for element in elements {
            guard let pattern = element.string.flatMap(HostPattern.init) else {
                throw PluginError("allowed_hosts: expected \(expected)")
            }
            patterns.append(pattern)
        }
        return patterns
    }
}
