public import PluginKit
import Synchronization

/// Apple Push Notification service, for one app: HTTP/2 with a provider token.
public final class APNsTransport: PluginTransport {
    public static let platform: StaticString = "ios"

    /// How long Apple keeps a notification that does not say, in milliseconds: a day. Apple keeps only the latest one.
    private static let defaultLifetime: Int64 = 86_400_000

    private let host: Host
    private let topic: String
    private let deviceURL: String
    private let providerToken: Mutex<ProviderToken>
    private let now: @Sendable () -> Int64

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: WallClock.milliseconds)
    }

    /// `now` is in milliseconds since 1970.
    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Int64) throws(PluginError) {
        let configuration = try APNsConfiguration(configuration)
        self.host = host
        self.now = now
        topic = configuration.topic
        deviceURL = configuration.origin + "/3/device/"
        providerToken = Mutex(
            ProviderToken(teamID: configuration.teamID, keyID: configuration.keyID, key: configuration.key)
        )
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard DeviceToken.isValid(registration.token) else {
            throw PluginError(
                "token: expected an APNs device token, an even number of hex digits from "
                    + "\(DeviceToken.lengths.lowerBound) to \(DeviceToken.lengths.upperBound)"
            )
        }
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        guard DeviceToken.isValid(registration.token) else { return .invalid }
        let now = now()
        guard let token = try? providerToken.withLock({ try $0.token(now: now) }) else { return .failed }
        var request = HTTPRequest("POST", url: deviceURL, followedBy: registration.token, options: .multiplex)
        request.maxResponseBytes = 4096
        request.addHeader("authorization", token.authorization)
        request.addHeader("apns-topic", topic)
        switch notification.mode {
        case .wake:
            request.addHeader("apns-push-type", "background")
            request.addHeader("apns-priority", "5")
            request.body = WakePayload.make(notification)
        case .alert:
            do throws(PayloadMistake) {
                request.body = try AlertPayload.make(notification)
            } catch {
                ticket.complete(Outcome(.rejected, reason: error.rawValue))
                return .accepted
            }
            request.addHeader("apns-push-type", "alert")
            request.addHeader("apns-priority", notification.urgency == .low ? "5" : "10")
            if let collapseID = CollapseID.make(notification.collapseKey) {
                request.addHeader("apns-collapse-id", collapseID)
            }
        case .nudge, .sealed, nil:
            return .unsupported
        }
        request.addHeader("apns-expiration", expiration(notification, now: now))
        if MessageID.isCanonical(notification.id) {
            request.addHeader("apns-id", notification.id.string)
        }
        return send(request, ticket, token, registeredAt: registration.registeredAt)
    }

    /// In seconds since 1970; what is over already gets one attempt, which Apple calls 0.
    private func expiration(_ notification: borrowing Notification, now: Int64) -> String {
        let expiresAt = notification.expiresAt.map { Int64(clamping: $0) } ?? now + APNsTransport.defaultLifetime
        return String(expiresAt > now ? expiresAt / 1000 : 0)
    }

    private func send(
        _ request: borrowing HTTPRequest,
        _ ticket: Ticket,
        _ token: ProviderToken.Issued,
        registeredAt: UInt64
    ) -> Admission {
        host.send(request) { [self] response in
            let now = now()
            switch APNsAnswer(response, now: now).verdict(registeredAt: registeredAt) {
            case .outcome(let outcome): ticket.complete(outcome)
            case .expiredProviderToken: ticket.complete(outcome(ofExpired: token, now: now))
            }
        }
    }

    private func outcome(ofExpired token: ProviderToken.Issued, now: Int64) -> Outcome {
        let reason = APNsReason.expiredProviderToken.label
        switch providerToken.withLock({ $0.refuse(generation: token.generation, now: now) }) {
        case .renewed: return Outcome(.retry, status: 403, reason: reason)
        case .clocksDisagree:
            host.log(.error, "APNs calls a provider token expired that is new: check this machine's clock")
            return Outcome(.misconfigured, status: 403, reason: reason)
        }
    }
}
