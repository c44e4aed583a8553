import Core
public import PluginKit
import WebPushMessage

/// Web Push: a POST to the endpoint of the user's browser (RFC 8030), encrypted (RFC 8291) and signed for the app (RFC
/// 8292).
public final class WebPushTransport: PluginTransport {
    public static let platform: StaticString = "web"
    public static let description: StaticString? = WebPushDescription.json

    /// The maximum length of an endpoint in bytes. Endpoints of the big services have a few hundred.
    private static let endpointLimit = 2048

    private let configuration: WebPushConfiguration
    private let sender: WebPushSender
    private let now: @Sendable () -> Timestamp

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        self.configuration = try WebPushConfiguration(configuration)
        sender = WebPushSender(host: host, ring: self.configuration.ring, signsUnasked: true, now: now)
        self.now = now
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard let endpoint = Self.endpoint(registration) else {
            throw PluginError(
                "token: expected the subscription's endpoint, an https URL without user and fragment, of at most "
                    + "\(Self.endpointLimit) bytes"
            )
        }
        guard isAllowed(endpoint) else {
            throw PluginError("token: expected an endpoint at a push service that this router sends to")
        }
        guard case .present = try SubscriptionKeys(registration) else {
            throw PluginError("p256dh, auth: expected the subscription's keys, found neither")
        }
        try sender.validate(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        guard let endpoint = Self.endpoint(registration), isAllowed(endpoint),
            case .present(let keys)? = try? SubscriptionKeys(registration)
        else { return .invalid }
        guard let form = MessageForm(of: notification, hasKeys: true) else { return .unsupported }
        var message = SignedMessage(to: endpoint)
        do throws(MessageError) {
            let block = try WebPushBlock(notification)
            let content = try BrowserMessage.make(
                notification,
                form,
                block: block,
                navigate: configuration.navigate,
                limit: form.limit(isEncrypted: true)
            )
            message.body = try form.encrypt(content.bytes, to: keys)
            addHeaders(notification, form, block, content.type, to: &message)
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        return sender.send(message, registration, ticket)
    }

    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        sender.command(words, completion: completion)
    }

    private static func endpoint(_ registration: borrowing Registration) -> Endpoint? {
        guard let endpoint = Endpoint(registration.token, limit: endpointLimit), endpoint.isSecure else { return nil }
        return endpoint
    }

    private func isAllowed(_ endpoint: Endpoint) -> Bool {
        configuration.allowedHosts?.contains { $0.matches(endpoint.host) } ?? true
    }

    private func addHeaders(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        _ block: WebPushBlock,
        _ type: String,
        to message: inout SignedMessage
    ) {
        let left = TimeToLive.seconds(until: notification.expiresAt, now: now())
        let wanted = block.timeToLive.map { notification.expiresAt == nil ? $0 : min($0, left) } ?? left
        // Apple requires a positive value.
        message.addHeader("ttl", String(min(max(1, wanted), TimeToLive.longest.seconds)))
        message.addHeader("urgency", block.urgency ?? notification.urgency.headerValue)
        message.addHeader("content-type", type)
        message.addHeader("content-encoding", "aes128gcm")
        if form == .alert || form == .nudge,
            let topic = block.topic.flatMap(Topic.make) ?? Topic.make(notification.collapseKey)
        {
            message.addHeader("topic", topic)
        }
    }
}

/// The configuration block of one app.
struct WebPushConfiguration: Sendable {
    /// The keys that sign for the app. Browsers subscribed with the public key of one of them.
    let ring: VAPIDKeyRing
    /// The URL that a tap opens if a notification has none; nil: none, and such a notification is not declarative.
    let navigate: String?
    /// Push services that messages may be sent to; nil: all.
    let allowedHosts: [HostPattern]?

    /// Throws for the first error, with its setting and the expected value.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: VAPIDKeyRing.names + ["navigate", "allowed_hosts"])
        ring = try VAPIDKeyRing(block)
        navigate = try Self.navigate(block)
        allowedHosts = try Self.allowedHosts(block)
    }

    private static func navigate(_ block: JSONObject) throws(PluginError) -> String? {
        let expected =
            "the URL that a tap opens if a notification has none, absolute, such as https://app.example.com/"
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
    /// The host name, which starts with a dot if the pattern has a wildcard.
    private let name: Substring
    private let isSuffix: Bool

    /// Returns nil for an invalid pattern.
    init?(_ text: String) {
        let lowercased = text.lowercased()
        isSuffix = lowercased.hasPrefix("*.")
        name = isSuffix ? lowercased.dropFirst() : lowercased[...]
        let labels = (isSuffix ? name.dropFirst() : name).split(separator: ".", omittingEmptySubsequences: false)
        guard name.utf8.count <= 253, labels.allSatisfy(Self.isLabel) else { return nil }
    }

    /// Whether `host`, which is in lower case, matches.
    func matches(_ host: String) -> Bool {
        isSuffix ? host.utf8.count > name.utf8.count && host.hasSuffix(name) : host[...] == name
    }

    private static func isLabel(_ label: Substring) -> Bool {
        !label.isEmpty && label.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") }
    }
}
