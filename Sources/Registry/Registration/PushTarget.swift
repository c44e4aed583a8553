import Cipher
import JSON
import Push

/// The token or endpoint of a registration, and the keys of its subscription.
struct PushTarget {
    var token: String
    /// `p256dh` and `auth` in base64url without padding; empty if there are none.
    var keys: [String: String]

    /// Reads the fields that `description` names. For a platform without a description, reads a token, or else an
    /// endpoint.
    init(_ description: PushTargetDescription?, reader: FieldReader) throws(RegistrationError) {
        keys =
            try reader.reader("subscription").map { subscription throws(RegistrationError) in
                guard let keys = try Self.keys(subscription) else {
                    throw subscription.refusal("keys", expected: "{p256dh, auth}")
                }
                return keys
            } ?? [:]
        let named =
            reader.object["token"] == nil && ["push_endpoint", "subscription"].contains { reader.object[$0] != nil }
        switch description?.kind ?? (named ? .endpoint : .token) {
        case .token:
            let expected = description?.expected ?? "the device token from the platform"
            guard let token = try reader.text("token", limit: RegistrationLimits.token),
                description?.pattern?.matches(token) ?? true
            else { throw reader.refusal("token", expected: expected) }
            self.token = token
        case .endpoint:
            token = ""
            try readEndpoint(reader, needsKeys: false)
        case .subscription:
            token = ""
            try readEndpoint(reader, needsKeys: true)
        }
    }

    /// The endpoint and the keys may be separate fields or part of the subscription. If they are in both places, they
    /// must agree.
    private mutating func readEndpoint(_ reader: FieldReader, needsKeys: Bool) throws(RegistrationError) {
        let endpoint = try Self.endpoint("push_endpoint", reader)
        let subscription = try reader.reader("subscription")
        let subscribed = try subscription.flatMap { subscription throws(RegistrationError) in
            try Self.endpoint("endpoint", subscription)
        }
        if subscription != nil, subscribed == nil {
            throw reader.refusal("subscription.endpoint", expected: Self.urlExpectation)
        }
        if let keys = try Self.keys(reader) {
            guard self.keys.isEmpty || keys == self.keys else {
                throw reader.refusal("keys", expected: "the same as `subscription.keys`, or nothing")
            }
            self.keys = keys
        }
        if needsKeys, keys.isEmpty {
            throw reader.refusal(
                "subscription",
                expected: "the browser's {endpoint, keys: {p256dh, auth}}, or `push_endpoint` and `keys`"
            )
        }
        if let endpoint, let subscribed, endpoint != subscribed {
            throw reader.refusal("push_endpoint", expected: "the same as `subscription.endpoint`, or nothing")
        }
        guard let target = subscribed ?? endpoint else {
            throw reader.refusal("push_endpoint", expected: Self.urlExpectation)
        }
        token = target
    }

    private static let urlExpectation = "an https:// or http:// URL of at most \(RegistrationLimits.endpoint) bytes"

    private static func endpoint(_ name: String, _ reader: FieldReader) throws(RegistrationError) -> String? {
        guard let value = reader.object[name] else { return nil }
        guard case .string(let url) = value, url.isURL(of: ["https", "http"], limit: RegistrationLimits.endpoint) else {
            throw reader.refusal(name, expected: urlExpectation)
        }
        return url
    }

    /// The keys of a subscription, without its endpoint. Nil if it has none.
    private static func keys(_ reader: FieldReader) throws(RegistrationError) -> [String: String]? {
        guard let keys = try reader.reader("keys") else { return nil }
        return [
            "p256dh": try key("p256dh", keys, expected: "an uncompressed P-256 point of 65 bytes in base64url") {
                $0.count == 65 && $0.first == 0x04
            },
            "auth": try key("auth", keys, expected: "16 bytes in base64url") { $0.count == 16 },
        ]
    }

    private static func key(
        _ name: String,
        _ keys: FieldReader,
        expected: String,
        where fits: ([UInt8]) -> Bool
    ) throws(RegistrationError) -> String {
        guard case .string(let text) = keys.object[name], text.utf8.count <= RegistrationLimits.label,
            let bytes = Base64URL.decode(text) ?? Base64.decode(text), fits(bytes)
        else { throw keys.refusal(name, expected: expected) }
        return Base64URL.encode(bytes)
    }
}

/// A target that people choose themselves, such as an ntfy topic, so others can guess it. It belongs to the first
/// account that registers it, until that account leaves it. Another account must prove that it reads there.
///
/// Tokens and endpoints issued by a push service are not chosen targets: their holder got them from the device.
///
/// A device of another account is stored and acknowledged like any other, but enters the match index only when its
/// registration contains the code that was pushed to the target for the owner's device. The code depends on the
/// router's identity, the target and the day.
struct ChosenTarget: Hashable {
    /// The field of a registration with the code that was pushed to the target.
    static let codeField = "code"

    /// The normalized target: the same for all spellings of its URL.
    let name: String

    /// Returns nil for a platform without chosen targets.
    init?(platform: String, token: String, _ platforms: PlatformCatalog) {
        guard platforms.hasChosenTargets(platform) else { return nil }
        var rest = token[...]
        for scheme in ["https://", "http://"] where rest.hasPrefix(scheme) { rest = rest.dropFirst(scheme.count) }
        let authority = rest.prefix { !"/?#".contains($0) }
        var host = authority.lowercased()
        for port in [":443", ":80"] where host.hasSuffix(port) { host.removeLast(port.count) }
        name = host + rest[authority.endIndex...]
    }
}

extension PlatformCatalog {
    /// Whether people choose the targets of that platform themselves.
    func hasChosenTargets(_ platform: String) -> Bool { self[platform]?.target.isChosen ?? false }
}
