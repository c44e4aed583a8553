public import PluginKit
import Synchronization

/// Apple Push Notification service, for one app: HTTP/2 with a provider token or a client certificate.
public final class APNsTransport: PluginTransport {
    public static let platform: StaticString = "ios"

    let host: Host
    let origins: Origins
    let credentials: Credentials
    let topics: Topics
    let dispatcher: Dispatcher
    /// Without the token.
    let deviceURLs: PerEnvironment<String>
    let broadcastURLs: PerEnvironment<String>
    /// Of the app's channels.
    let managementURLs: PerEnvironment<String>
    let broadcastKey: BroadcastKey?
    /// Where devices turned out to be; nil unless they are looked for.
    let foundEnvironments: TokenMemory<Environment>?
    let provenPlaces = ProvenPlaces()
    let now: @Sendable () -> Int64
    private let hasReportedPlace = Atomic(false)

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: WallClock.milliseconds)
    }

    /// `now` is in milliseconds since 1970.
    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Int64) throws(PluginError) {
        let configuration = try APNsConfiguration(configuration, now: now())
        let authentication = configuration.authentication
        self.host = host
        self.now = now
        origins = configuration.origins
        credentials = try Credentials(authentication, bundleID: configuration.topic, host: host)
        topics = Topics(bundleID: configuration.topic) { authentication.covers($0, ofApp: configuration.topic) }
        dispatcher = Dispatcher(topics: topics, host: host)
        deviceURLs = origins.all.map { $0 + "/3/device/" }
        broadcastURLs = origins.all.map { "\($0)/4/broadcasts/apps/\(configuration.topic)" }
        managementURLs = configuration.managementOrigins.map { "\($0)/1/apps/\(configuration.topic)" }
        broadcastKey = configuration.broadcastKey
        foundEnvironments = configuration.triesOtherEnvironment && origins.differ ? TokenMemory() : nil
        for warning in configuration.warnings {
            host.log(.warning, warning)
        }
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        try RegistrationCheck(broadcastKey: broadcastKey).check(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        let now = now()
        if credentials.hasExpired(now: now) {
            ticket.complete(Outcome(.misconfigured, reason: "certificate-expired"))
            return .accepted
        }
        guard DeviceToken.isValid(registration.token) else {
            return broadcast(ticket, registration, notification)
        }
        do throws(PayloadMistake) {
            guard let dispatch = try dispatcher.dispatch(notification, to: registration, now: now) else {
                return .unsupported
            }
            return send(dispatch, ticket, registration, now: now)
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Admission {
        switch words.first {
        case "help":
            completion(CommandAnswer(isGood: true, text: ChannelCommand.help))
            return .accepted
        case "status":
            completion(CommandAnswer(isGood: true, text: credentials.status))
            return .accepted
        case "channels": return manageChannels(Array(words.dropFirst()), completion)
        default: return .unsupported
        }
    }

    /// Says once that something all devices depend on may be wrong.
    func reportPlace(_ mistake: String) {
        if !hasReportedPlace.exchange(true, ordering: .relaxed) {
            host.log(.error, mistake)
        }
    }

    /// What becomes of a push whose provider token Apple calls expired. The courier sends it again: by then there is a new
    /// token, and it goes by a new connection.
    func outcome(ofExpired proof: Proof, now: Int64) -> Outcome {
        let reason = APNsReason.expiredProviderToken.label
        switch credentials.refuse(proof, now: now) {
        case .renewed: return Outcome(.retry, status: 403, reason: reason)
        case .clocksDisagree:
            host.log(.error, "APNs calls a provider token expired that is new: check this machine's clock")
            return Outcome(.misconfigured, status: 403, reason: reason)
        case nil: return Outcome(.misconfigured, status: 403, reason: reason)
        }
    }
}
