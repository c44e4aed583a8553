import Core
public import PluginKit
import Synchronization

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
    ) -> Acceptance {
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

    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
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

/// The host, the credentials and the origins, shared by pushes, broadcasts and channel management.
final class APNsClient: Sendable {
    let host: Host
    let origins: Origins
    let credentials: Credentials
    let provenPlaces = ProvenPlaces()
    private let clock: @Sendable () -> Timestamp
    private let hasReportedPlace = Atomic(false)

    init(host: Host, origins: Origins, credentials: Credentials, now: @escaping @Sendable () -> Timestamp) {
        self.host = host
        self.origins = origins
        self.credentials = credentials
        clock = now
    }

    var now: Timestamp { clock() }

    /// Adds the proof to the request and selects a connection that may carry it.
    func authorize(_ request: inout HTTPRequest, with proof: Proof) {
        request.connection = proof.connection
        if let authorization = proof.authorization {
            request.addHeader("authorization", authorization)
        }
    }

    /// Returns the outcome of a push whose provider token expired. When the router retries the push, there is a new
    /// token on a new connection.
    func outcome(ofExpired proof: Proof) -> Outcome {
        let reason = APNsReason.expiredProviderToken.label
        switch credentials.refuse(proof, now: now) {
        case .renewed: return Outcome(.retry, status: 403, reason: reason)
        case .clocksDisagree:
            host.log(.error, "APNs reported a new provider token as expired: check this machine's clock")
            return Outcome(.misconfigured, status: 403, reason: reason)
        case nil: return Outcome(.misconfigured, status: 403, reason: reason)
        }
    }

    /// Logs once that a setting that affects all devices may be wrong.
    func reportPlace(_ message: String) {
        if !hasReportedPlace.exchange(true, ordering: .relaxed) {
            host.log(.error, message)
        }
    }
}

/// The environments in which Apple accepted a push since startup. There, both topic and environment are correct.
final class ProvenPlaces: Sendable {
    /// Pushes for the app's own topic and broadcasts prove different settings.
    enum Service: UInt8, Sendable {
        case pushes
        case broadcasts
    }

    private let bits = Atomic<UInt8>(0)

    func contains(_ environment: Environment, _ service: Service) -> Bool {
        bits.load(ordering: .relaxed) & ProvenPlaces.bit(environment, service) != 0
    }

    func insert(_ environment: Environment, _ service: Service) {
        // A load is cheaper than a store, and a store is needed only the first time.
        guard !contains(environment, service) else { return }
        bits.bitwiseOr(ProvenPlaces.bit(environment, service), ordering: .relaxed)
    }

    private static func bit(_ environment: Environment, _ service: Service) -> UInt8 {
        1 << (environment.rawValue + 2 * service.rawValue)
    }
}
