import Core
public import PluginKit
import WebPushMessage

/// UnifiedPush: a POST to the endpoint of the device's distributor (RFC 8030). The message is encrypted if the
/// registration has keys (RFC 8291), otherwise plain, and signed (RFC 8292) if the registration names the key that the
/// app gave its distributor.
public final class UnifiedPushTransport: PluginTransport {
    public static let platform: StaticString = "unifiedpush"
    public static let description: StaticString? = UnifiedPushDescription.json

    /// The maximum length of an endpoint in bytes (UnifiedPush AND_3.0.0).
    private static let endpointLimit = 1000

    private let sender: WebPushSender
    private let now: @Sendable () -> Timestamp

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        try configuration.refuseMembers(except: VAPIDKeyRing.names)
        let ring = try VAPIDKeyRing.optional(configuration)
        sender = WebPushSender(host: host, ring: ring, signsUnasked: false, now: now)
        self.now = now
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard Endpoint(registration.token, limit: Self.endpointLimit) != nil else {
            throw PluginError(
                "token: expected the endpoint, an https or http URL without user and fragment, of at most "
                    + "\(Self.endpointLimit) bytes"
            )
        }
        _ = try SubscriptionKeys(registration)
        try sender.validate(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        guard let endpoint = Endpoint(registration.token, limit: Self.endpointLimit),
            let keys = try? SubscriptionKeys(registration)
        else { return .invalid }
        let isEncrypted = if case .present = keys { true } else { false }
        guard let form = MessageForm(of: notification, hasKeys: isEncrypted) else { return .unsupported }
        var message = SignedMessage(to: endpoint)
        message.addHeader("ttl", String(TimeToLive.seconds(until: notification.expiresAt, now: now())))
        message.addHeader("urgency", notification.urgency.headerValue)
        if form == .alert || form == .nudge, let topic = Topic.make(notification.collapseKey) {
            message.addHeader("topic", topic)
        }
        do throws(MessageError) {
            let content = try AppMessage.make(notification, form, limit: form.limit(isEncrypted: isEncrypted))
            switch keys {
            case .absent:
                message.addHeader("content-type", "application/json")
                message.body = content
            case .present(let keys):
                message.addHeader("content-type", "application/octet-stream")
                message.addHeader("content-encoding", "aes128gcm")
                message.body = try form.encrypt(content, to: keys)
            }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        return sender.send(message, registration, ticket)
    }

    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        sender.command(words, completion: completion)
    }
}
