public import PluginKit

/// Gotify, for people without an app of their own: readable messages under an application of their server.
///
/// What wakes an app is a sentence of the operator's here. Nothing can be sealed: nobody would decrypt it.
public final class GotifyTransport: PluginTransport {
    public static let platform: StaticString = "gotify"

    private let host: Host
    private let wakeTexts: WakeTexts
    private let now: @Sendable () -> Int64

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
        _ = try MessageEndpoint(registration.token)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        let endpoint: MessageEndpoint
        do throws(PluginError) {
            endpoint = try MessageEndpoint(registration.token)
        } catch {
            return .invalid
        }
        var request = HTTPRequest("POST", url: endpoint.url, options: .untrustedURL)
        request.maxResponseBytes = 1024
        request.addHeader("content-type", "application/json")
        request.addHeader("x-gotify-key", endpoint.applicationToken)
        do throws(ReadableMistake) {
            switch notification.mode {
            case .wake:
                request.body = try Message.wake(notification, wakeTexts)
            case .nudge, .alert:
                request.body = try Message.readable(notification)
            case .sealed, nil:
                return .unsupported
            }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        return host.send(request) { [now] response in
            ticket.complete(GotifyAnswer(response, now: now()).outcome)
        }
    }
}
