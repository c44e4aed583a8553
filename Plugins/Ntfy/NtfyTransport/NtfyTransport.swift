public import PluginKit

/// ntfy, for people without an app of their own: readable messages on a topic of their choice, by ntfy's JSON publishing.
///
/// What wakes an app is a sentence of the operator's here. Nothing can be sealed: nobody would decrypt it.
public final class NtfyTransport: PluginTransport {
    public static let platform: StaticString = "ntfy"

    private let host: Host
    private let wakeTexts: WakeTexts
    private let now: @Sendable () -> Int64
    private let refused = RefusedCredentials()

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: WallClock.milliseconds)
    }

    /// `now` is in milliseconds since 1970.
    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Int64) throws(PluginError) {
        try configuration.refuseMembers(except: ["wake_message", "batch_message"])
        wakeTexts = try WakeTexts(configuration)
        self.host = host
        self.now = now
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        _ = try Topic(registration.token)
        _ = try Credentials.authorization(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        let topic: Topic
        let authorization: String?
        do throws(PluginError) {
            topic = try Topic(registration.token)
            authorization = try Credentials.authorization(registration)
        } catch {
            return .invalid
        }
        if let authorization, refused.contain(authorization, for: topic, now: now()) {
            ticket.complete(Outcome(.rejected, reason: NtfyAnswer.unauthorized))
            return .accepted
        }
        var request = HTTPRequest("POST", url: topic.publishingURL, options: .untrustedURL)
        request.maxResponseBytes = 1024
        request.addHeader("content-type", "application/json")
        if let authorization {
            request.addHeader("authorization", authorization)
        }
        do throws(ReadableMistake) {
            switch notification.mode {
            case .wake:
                request.body = try Message.wake(notification, topic: topic.name, wakeTexts)
            case .nudge, .alert:
                request.body = try Message.readable(notification, topic: topic.name)
            case .sealed, nil:
                return .unsupported
            }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        return host.send(request) { [now, refused] response in
            let now = now()
            if let authorization, response.status == 401 {
                refused.insert(authorization, for: topic, now: now)
            }
            ticket.complete(NtfyAnswer(response, hasAccount: authorization != nil, now: now).outcome)
        }
    }
}
