import PluginKit
import WebPushMessage

/// The `web` block of one app.
struct WebPushConfiguration: Sendable {
    /// Signs for the app: browsers got the public half of one of them when they subscribed.
    let ring: VAPIDKeyRing
    /// What a tap opens when a notification names no URL; nil: nothing, and such a notification is not declarative.
    let navigate: String?
    /// Push services that messages may go to; nil: all.
    let allowedHosts: [HostPattern]?

    /// Throws for the first mistake: which key it is under, and what was expected.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: VAPIDKeyRing.names + ["navigate", "allowed_hosts"])
        ring = try VAPIDKeyRing(block)
        navigate = try Self.navigate(block)
        allowedHosts = try Self.allowedHosts(block)
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
