public import PluginKit
import WebPushEncryption

/// UnifiedPush: a POST to the endpoint that the device's distributor made (RFC 8030), encrypted for the app where the
/// registration brings keys (RFC 8291), plain where it does not.
public final class UnifiedPushTransport: PluginTransport {
    public static let platform: StaticString = "unifiedpush"

    /// What push servers take, in bytes. ntfy cuts what is longer without a word.
    private static let limit = 4096

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
        guard let mode = notification.mode, UnifiedPushTransport.canHonour(mode, keys) else { return .unsupported }
        let now = now()
        var request = HTTPRequest("POST", url: url, options: .untrustedURL)
        request.maxResponseBytes = 1024
        request.addHeader("ttl", String(TimeToLive.seconds(until: notification.expiresAt, now: now)))
        request.addHeader("urgency", notification.urgency.headerValue)
        if mode == .alert, let topic = Topic.make(notification.collapseKey) {
            request.addHeader("topic", topic)
        }
        do throws(MessageMistake) {
            switch keys {
            case .absent:
                request.addHeader("content-type", "application/json")
                request.body = try UnifiedPushTransport.message(notification, mode, limit: UnifiedPushTransport.limit)
            case .present(let keys):
                request.addHeader("content-type", "application/octet-stream")
                request.addHeader("content-encoding", "aes128gcm")
                request.body = try UnifiedPushTransport.encrypted(notification, mode, keys)
            }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        return host.send(request) { [now = self.now] response in
            ticket.complete(UnifiedPushAnswer(response, now: now()).outcome)
        }
    }

    /// A nudge has no meaning here, where all that shows is the app's doing; sealing takes keys.
    private static func canHonour(_ mode: Mode, _ keys: SubscriptionKeys) -> Bool {
        switch (mode, keys) {
        case (.wake, _), (.alert, _), (.sealed, .present): true
        case (.nudge, _), (.sealed, .absent): false
        }
    }

    private static func message(
        _ notification: borrowing Notification,
        _ mode: Mode,
        limit: Int
    ) throws(MessageMistake) -> [UInt8] {
        mode == .wake ? Message.wake(notification) : try Message.whole(notification, limit: limit)
    }

    private static func encrypted(
        _ notification: borrowing Notification,
        _ mode: Mode,
        _ keys: WebPushKeys
    ) throws(MessageMistake) -> [UInt8] {
        let plaintext = try message(notification, mode, limit: WebPushEncryption.maximumPlaintextByteCount)
        do {
            return try WebPushEncryption.encrypt(plaintext, to: keys)
        } catch {
            throw .notEncrypted
        }
    }
}
