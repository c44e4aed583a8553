public import PluginKit
import Units

/// Apple Push Notification service for one app: HTTP/2 with a provider token or a client certificate.
public final class APNsTransport: PluginTransport {
    public static let platform: StaticString = "ios"
    public static let description: StaticString? = APNsDescription.json

    private let client: APNsClient
    private let registrations: RegistrationCheck
    private let dispatcher: Dispatcher
    private let pushes: PushSender
    private let broadcasts: BroadcastSender
    private let channels: ChannelManagement

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        let configuration = try APNsConfiguration(configuration, now: now())
        let bundleID = configuration.topic
        let authentication = configuration.authentication
        client = APNsClient(
            host: host,
            origins: configuration.origins,
            credentials: try Credentials(authentication, bundleID: bundleID, host: host),
            now: now
        )
        registrations = RegistrationCheck(broadcastKey: configuration.broadcastKey)
        let topics = Topics(bundleID: bundleID) { authentication.covers($0, ofApp: bundleID) }
        dispatcher = Dispatcher(topics: topics, host: host)
        pushes = PushSender(client, dispatcher, topics, triesOtherEnvironment: configuration.triesOtherEnvironment)
        let broadcastURLs = configuration.origins.all.map { "\($0)/4/broadcasts/apps/\(bundleID)" }
        broadcasts = BroadcastSender(client, dispatcher, urls: broadcastURLs, key: configuration.broadcastKey)
        channels = ChannelManagement(
            client,
            managementURLs: configuration.managementOrigins.map { "\($0)/1/apps/\(bundleID)" },
            broadcastURLs: broadcastURLs
        )
        for warning in configuration.warnings {
            host.log(.warning, warning)
        }
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        try registrations.check(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        let now = client.now
        if client.credentials.hasExpired(now: now) {
            ticket.complete(Outcome(.misconfigured, reason: "certificate-expired"))
            return .accepted
        }
        do throws(PayloadError) {
            guard DeviceToken.isValid(registration.token) else {
                return try broadcasts.send(notification, registration, ticket, now: now)
            }
            guard let dispatch = try dispatcher.dispatch(notification, to: registration, now: now) else {
                return .unsupported
            }
            return pushes.send(dispatch, registration, ticket, now: now)
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
            completion(CommandAnswer(isGood: true, text: client.credentials.status))
            return .accepted
        case "channels": return channels.perform(Array(words.dropFirst()), completion)
        default: return .unsupported
        }
    }
}
