public import PluginKit
import Synchronization

/// Apple Push Notification service, for one app: HTTP/2 with a provider token.
public final class APNsTransport: PluginTransport {
    public static let platform: StaticString = "ios"

    private let host: Host
    private let topics: Topics
    /// Without the token.
    private let deviceURLs: Origins
    private let providerToken: Mutex<ProviderToken>
    /// The URLs where Apple took a push for the app's own topic.
    private let provenPlaces = Mutex<Set<String>>([])
    private let hasReportedPlace = Atomic(false)
    private let blocks = ReadTexts<NativeBlock>()
    private let now: @Sendable () -> Int64

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: WallClock.milliseconds)
    }

    /// `now` is in milliseconds since 1970.
    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Int64) throws(PluginError) {
        let configuration = try APNsConfiguration(configuration)
        self.host = host
        self.now = now
        topics = Topics(bundleID: configuration.topic)
        deviceURLs = configuration.origins.appending("/3/device/")
        providerToken = Mutex(
            ProviderToken(teamID: configuration.teamID, keyID: configuration.keyID, key: configuration.key)
        )
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard DeviceToken.isValid(registration.token) else {
            throw PluginError("token: expected an APNs device token, \(DeviceToken.description)")
        }
        for name in DeviceTokens.fields {
            if let token = registration.field(name), !token.isEmpty, !DeviceToken.isValid(token) {
                throw PluginError("\(name): expected \(DeviceToken.description), or an empty text")
            }
        }
        if let environment = registration.field("environment"), !environment.isEmpty,
            !Origins.isEnvironment(environment)
        {
            throw PluginError("environment: expected production or sandbox")
        }
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        guard DeviceToken.isValid(registration.token) else { return .invalid }
        let now = now()
        let push: Push
        do throws(PayloadMistake) {
            guard let made = try self.push(notification, to: registration, now: now) else { return .unsupported }
            push = made
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        guard let token = try? providerToken.withLock({ try $0.token(now: now) }) else { return .failed }
        let url = deviceURLs[registration.field("environment")]
        var request = HTTPRequest("POST", url: url, followedBy: push.token ?? registration.token, options: .multiplex)
        request.maxResponseBytes = 4096
        request.addHeader("authorization", token.authorization)
        request.addHeader("apns-topic", topics[push.type])
        addHeaders(of: push, notification, to: &request, now: now)
        request.body = push.payload
        let recipient = Recipient(
            pushType: push.type,
            isAtMainOrigin: url == deviceURLs.main,
            isPlaceProven: provenPlaces.withLock { $0.contains(url) },
            registeredAt: registration.registeredAt
        )
        return send(request, ticket, token, recipient, at: url)
    }

    private func addHeaders(
        of push: Push,
        _ notification: borrowing Notification,
        to request: inout HTTPRequest,
        now: Int64
    ) {
        request.addHeader("apns-push-type", push.type.rawValue)
        request.addHeader("apns-priority", push.priority.headerValue)
        if let collapseID = push.collapseID {
            request.addHeader("apns-collapse-id", collapseID)
        }
        let expiresAt = notification.expiresAt.map { Int64(clamping: $0) } ?? now + push.type.lifetime
        // In seconds; what is over already gets one attempt, which Apple calls 0.
        request.addHeader("apns-expiration", String(expiresAt > now ? expiresAt / 1000 : 0))
        if MessageID.isCanonical(notification.id) {
            request.addHeader("apns-id", notification.id.string)
        }
    }

    /// Nil when the mode cannot be honoured.
    private func push(
        _ notification: borrowing Notification,
        to registration: borrowing Registration,
        now: Int64
    ) throws(PayloadMistake) -> Push? {
        switch notification.mode {
        case .wake: return try .wake(notification)
        case .nudge: return try .nudge(notification)
        case .sealed: return try .sealed(notification)
        case .alert:
            let native = notification.native
            let block = native.isEmpty ? .empty : try blocks.value(of: native, NativeBlock.init)
            return try .whole(notification, block, to: registration, now: now)
        case nil: return nil
        }
    }

    private func send(
        _ request: borrowing HTTPRequest,
        _ ticket: Ticket,
        _ token: ProviderToken.Issued,
        _ recipient: Recipient,
        at url: String
    ) -> Admission {
        host.send(request) { [self] response in
            let now = now()
            let answer = APNsAnswer(response, now: now)
            switch answer.verdict(for: recipient) {
            case .outcome(let outcome):
                learn(from: answer, recipient, url)
                ticket.complete(outcome)
            case .expiredProviderToken: ticket.complete(outcome(ofExpired: token, now: now))
            }
        }
    }

    /// What an answer tells of the app's topic and environment.
    private func learn(from answer: APNsAnswer, _ recipient: Recipient, _ url: String) {
        if answer.status == 200, recipient.pushType.topicSuffix.isEmpty, !recipient.isPlaceProven {
            provenPlaces.withLock { _ = $0.insert(url) }
        } else if answer.mayBeOurMistake(for: recipient), !hasReportedPlace.exchange(true, ordering: .relaxed) {
            host.log(.error, "APNs says that a device is of another app or environment: check topic and environment")
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
