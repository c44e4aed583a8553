public import PluginKit
import Synchronization
import WebPushMessage

/// Web Push: a POST to the endpoint that the user's browser made (RFC 8030), encrypted for it (RFC 8291) and signed for the
/// app (RFC 8292).
public final class WebPushTransport: PluginTransport {
    public static let platform: StaticString = "web"

    private let host: Host
    private let configuration: WebPushConfiguration
    private let origins: Mutex<VAPIDOrigins>
    private let lastComplaint = Mutex<Int64?>(nil)
    private let now: @Sendable () -> Int64

    /// How long the operator is left alone after a complaint, in milliseconds.
    private static let quiet: Int64 = 3_600_000

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: WallClock.milliseconds)
    }

    /// `now` is in milliseconds since 1970.
    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Int64) throws(PluginError) {
        self.configuration = try WebPushConfiguration(configuration)
        self.host = host
        self.now = now
        origins = Mutex(VAPIDOrigins(self.configuration.token))
        host.log(.info, "browsers subscribe with the applicationServerKey \(self.configuration.token.publicKey)")
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard let endpoint = Endpoint(registration.token) else {
            throw PluginError(
                "token: expected the subscription's endpoint, an https URL without user and fragment, of at most "
                    + "\(Endpoint.limit) bytes"
            )
        }
        guard isAllowed(endpoint) else {
            throw PluginError("token: expected an endpoint at a push service that this router sends to")
        }
        guard case .present = try SubscriptionKeys(registration) else {
            throw PluginError("p256dh, auth: expected the subscription's keys, found neither")
        }
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        guard let endpoint = Endpoint(registration.token), isAllowed(endpoint),
            case .present(let keys)? = try? SubscriptionKeys(registration)
        else { return .invalid }
        guard let form = MessageForm(of: notification, hasKeys: true) else { return .unsupported }
        let now = now()
        var request = HTTPRequest("POST", url: endpoint.url, options: .untrustedURL)
        request.maxResponseBytes = 4096
        do throws(MessageMistake) {
            let block = try WebPushBlock(notification)
            let message = try BrowserMessage.make(
                notification,
                form,
                block: block,
                navigate: configuration.navigate,
                limit: form.limit(isEncrypted: true)
            )
            request.body = try form.encrypt(message, to: keys)
            addHeaders(notification, form, block, to: &request, now: now)
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        guard
            let authorization = try? origins.withLock({ origins in
                try origins.authorization(for: endpoint.origin, now: now)
            })
        else { return .failed }
        request.addHeader("authorization", authorization)
        return host.send(request) { [self] response in
            ticket.complete(outcome(of: WebPushAnswer(response, host: endpoint.host, now: self.now()), endpoint.origin))
        }
    }

    private func isAllowed(_ endpoint: Endpoint) -> Bool {
        configuration.allowedHosts?.contains { $0.matches(endpoint.host) } ?? true
    }

    private func addHeaders(
        _ notification: borrowing Notification,
        _ form: MessageForm,
        _ block: WebPushBlock,
        to request: inout HTTPRequest,
        now: Int64
    ) {
        let left = TimeToLive.seconds(until: notification.expiresAt, now: now)
        let wanted = block.timeToLive.map { notification.expiresAt == nil ? $0 : min($0, left) } ?? left
        // Apple wants it to be positive.
        request.addHeader("ttl", String(min(max(1, wanted), TimeToLive.longest)))
        request.addHeader("urgency", block.urgency ?? notification.urgency.headerValue)
        request.addHeader("content-type", "application/octet-stream")
        request.addHeader("content-encoding", "aes128gcm")
        if form == .alert, let topic = block.topic.flatMap(Topic.make) ?? Topic.make(notification.collapseKey) {
            request.addHeader("topic", topic)
        }
    }

    private func outcome(of answer: WebPushAnswer, _ origin: String) -> Outcome {
        if answer.refusesOurToken {
            complain()
        }
        let isProven = origins.withLock { origins in
            if answer.isAccepted {
                origins.prove(origin)
            }
            return origins.isProven(origin)
        }
        return answer.outcome(isKeyProven: isProven)
    }

    /// Users choose the push services, and what one of them says must not fill the log.
    private func complain() {
        let now = now()
        let isWorthIt = lastComplaint.withLock { last in
            if let last, (0..<Self.quiet).contains(now - last) { return false }
            last = now
            return true
        }
        guard isWorthIt else { return }
        host.log(
            .warning,
            "a push service refuses our VAPID token: check subject, the key and this machine's clock"
        )
    }
}
