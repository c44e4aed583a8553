import PluginKit
import WebPushMessage

/// The configuration block of one app.
struct WebPushConfiguration: Sendable {
    /// Signs for the app. Browsers subscribed with the public half of one of these keys.
    let ring: VAPIDKeyRing
    /// What a tap opens if a notification names no URL; nil: nothing, and such a notification is not declarative.
    let navigate: String?
    /// Push services that messages may be sent to; nil: all.
    let allowedHosts: [HostPattern]?

    /// Throws for the first error: under which setting it is, and what was expected.
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

/// A host pattern: `push.example.com`, or `*.example.com` for all hosts below `example.com`.
struct HostPattern: Sendable {
    /// Begins with a dot if the pattern has a wildcard.
    private let name: Substring
    private let isSuffix: Bool

    /// Nil for an invalid pattern.
    init?(_ text: String) {
        let lowercased = text.lowercased()
        isSuffix = lowercased.hasPrefix("*.")
        name = isSuffix ? lowercased.dropFirst() : lowercased[...]
        let labels = (isSuffix ? name.dropFirst() : name).split(separator: ".", omittingEmptySubsequences: false)
        guard name.utf8.count <= 253, labels.allSatisfy(Self.isLabel) else { return nil }
    }

    /// `host` is in lower case.
    func matches(_ host: String) -> Bool {
        isSuffix ? host.utf8.count > name.utf8.count && host.hasSuffix(name) : host[...] == name
    }

    private static func isLabel(_ label: Substring) -> Bool {
        !label.isEmpty && label.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") }
    }
}
