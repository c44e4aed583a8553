public import PluginKit
import WebPushMessage

/// UnifiedPush: a POST to the endpoint that the device's distributor made (RFC 8030), encrypted for the app where the
/// registration brings keys (RFC 8291), plain where it does not.
public final class UnifiedPushTransport: PluginTransport {
    public static let platform: StaticString = "unifiedpush"

    private let host: Host
    private let now: @Sendable () -> Int64

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: WallClock.milliseconds)
    }

    /// `now` is in milliseconds since 1970.
    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Int64) throws(PluginError) {
        try configuration.refuseMembers(except: [])
        self.host = host
        self.now = now
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard Endpoint.url(registration.token) != nil else {
            throw PluginError(
                "token: expected the endpoint, an https or http URL without user and fragment, of at most "
                    + "\(Endpoint.limit) bytes"
            )
        }
        _ = try SubscriptionKeys(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        guard let url = Endpoint.url(registration.token), let keys = try? SubscriptionKeys(registration) else {
            return .invalid
        }
        let isEncrypted = if case .present = keys { true } else { false }
        guard let form = MessageForm(of: notification, hasKeys: isEncrypted) else { return .unsupported }
        var request = HTTPRequest("POST", url: url, options: .untrustedURL)
        request.maxResponseBytes = 1024
        request.addHeader("ttl", String(TimeToLive.seconds(until: notification.expiresAt, now: now())))
        request.addHeader("urgency", notification.urgency.headerValue)
        if form == .alert, let topic = Topic.make(notification.collapseKey) {
            request.addHeader("topic", topic)
        }
        do throws(MessageMistake) {
            let message = try AppMessage.make(notification, form, limit: form.limit(isEncrypted: isEncrypted))
            switch keys {
            case .absent:
                request.addHeader("content-type", "application/json")
                request.body = message
            case .present(let keys):
                request.addHeader("content-type", "application/octet-stream")
                request.addHeader("content-encoding", "aes128gcm")
                request.body = try form.encrypt(message, to: keys)
            }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        return host.send(request) { [now = self.now] response in
            ticket.complete(PushServiceAnswer(response, now: now()).outcome)
        }
    }
}
