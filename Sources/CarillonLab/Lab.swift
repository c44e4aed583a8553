import NIOConcurrencyHelpers
import NIOCore

/// Push services on loopback, as strict as the real ones.
///
///     let lab = try await Lab.start(LabConfiguration())
///     // send to lab.apnsURL with lab.credentials, trusting lab.caFile
///     let request = try await lab.next()
///     #expect(request.status == 200)
///     await lab.shutdown()
public final class Lab: Sendable {
    /// Where the lab is reached, as `lab.json` says it.
    public let addresses: LabAddresses
    /// The first of the configuration, made by default.
    public let credentials: LabCredentials
    /// Signed by the lab's authority, for both environments: topics are that of ``credentials``, and it with `.voip` and
    /// `.complication`.
    public let pushCertificate: PushCertificate
    /// What the operator sends Web Push with; nil where the service was left out.
    public let vapid: VAPIDCredentials?

    let core: LabCore
    let group: any EventLoopGroup
    private let authority: CertificateAuthority
    private let sockets: LabSockets
    private let folder: LabFolder

    /// Starts every service the configuration asks for. Throws where a port is taken or a file is not readable.
    public static func start(_ configuration: LabConfiguration = LabConfiguration()) async throws -> Lab {
        guard let credentials = configuration.apns.credentials.first else {
            throw LabError.invalid("The lab's APNs needs the credentials of at least one provider.")
        }
        let folder = try LabFolder(configuration.folder)
        let sockets = LabSockets(host: configuration.host)
        do {
            let core = try LabCore(configuration)
            let tls = try LabTLS(configuration, folder: folder)
            let opening = LabStarter(
                configuration: configuration,
                core: core,
                tls: tls,
                folder: folder,
                sockets: sockets
            )
            let certificate = try opening.writePushCertificate(of: credentials)
            let addresses = NIOLockedValueBox<LabAddresses?>(nil)
            let known: @Sendable () -> LabAddresses? = { addresses.withLockedValue { $0 } }
            let opened = LabAddresses(
                apns: try await opening.startAPNs(.production, credentials, certificate),
                apnsSandbox: try await opening.startSandbox(credentials, certificate),
                fcm: try await opening.startFCM(),
                unifiedPush: try await opening.startUnifiedPush { known()?.unifiedPush ?? "" },
                webPush: try await opening.startWebPush { known()?.webPush?.url ?? "" },
                ntfy: try await opening.startNtfy { known()?.ntfy?.url ?? "" },
                gotify: try await opening.startGotify(),
                control: try await opening.startControl(known),
                caFile: tls.authorityFile
            )
            addresses.withLockedValue { $0 = opened }
            return Lab(opening, opened, credentials, certificate.certificate)
        } catch {
            await sockets.closeAll()
            folder.remove()
            throw error
        }
    }

    private init(
        _ opening: LabStarter,
        _ addresses: LabAddresses,
        _ credentials: LabCredentials,
        _ pushCertificate: PushCertificate
    ) {
        self.addresses = addresses
        self.credentials = credentials
        self.pushCertificate = pushCertificate
        vapid = opening.configuration.webPush?.vapid
        core = opening.core
        authority = opening.tls.authority
        sockets = opening.sockets
        folder = opening.folder
        group = opening.sockets.group
    }

    /// Closes every socket; whoever still waits for a request gets a `LabError`.
    public func shutdown() async {
        await sockets.closeAll()
        core.recorder.close()
        folder.remove()
    }

    /// Another push certificate, as Apple issues them. `daysLeft` may be negative for one that has expired.
    ///
    /// The first topic is also the UID of its subject. Throws `LabError` where there is none.
    public func issuePushCertificate(
        topics: [String],
        environments: Set<APNsEnvironment> = Set(APNsEnvironment.allCases),
        daysLeft: Int = 365
    ) throws -> PushCertificate {
        let end = LabTLS.now + Int64(daysLeft) * 86_400
        return try authority.issuePush(topics: topics, environments: environments, valid: end - 366 * 86_400..<end)
    }

    /// `https://localhost:PORT`
    public var apnsURL: String { addresses.apns.url }

    /// Nil where the sandbox was left out.
    public var apnsSandboxURL: String? { addresses.apnsSandbox?.url }

    /// Nil where the service was left out.
    public var fcm: LabAddresses.FCM? { addresses.fcm }

    /// `http://localhost:PORT`, to be followed by a slash and a topic; nil where the service was left out.
    public var unifiedPushURL: String? { addresses.unifiedPush }

    /// `https://localhost:PORT`, the origin of subscriptions' endpoints; nil where the service was left out.
    public var webPushURL: String? { addresses.webPush?.url }

    /// Nil where the endpoint was left out.
    public var controlURL: String? { addresses.control }

    /// The path of the authority's certificate that clients should trust, in PEM.
    public var caFile: String { addresses.caFile }

    /// Every request kept, in order.
    public var received: [ReceivedRequest] { core.recorder.requests }

    /// The oldest request that this function has not returned yet; waits for one where there is none.
    ///
    /// Throws `LabError` when the time is over (nil for no limit) or the lab is shut down.
    public func next(timeout: Duration? = .seconds(10)) async throws -> ReceivedRequest {
        let wait = core.recorder.awaitUnread(timeout: timeout.map { TimeAmount($0) }, on: group.any())
        guard let request = try await core.recorder.requests(of: wait).first else { throw LabError.closed }
        return request
    }

    /// Waits until so many of the requests kept match, and returns all that do.
    ///
    /// Throws `LabError` when the time is over or the lab is shut down.
    @discardableResult
    public func waitFor(
        count: Int,
        timeout: Duration = .seconds(10),
        where matching: @escaping @Sendable (ReceivedRequest) -> Bool = { _ in true }
    ) async throws -> [ReceivedRequest] {
        let wait = core.recorder.awaitCount(count, timeout: TimeAmount(timeout), on: group.any(), matching: matching)
        return try await core.recorder.requests(of: wait)
    }

    /// Forgets every request received.
    public func forgetReceived() {
        core.recorder.removeAll()
    }

    /// Adds to the script; what was ordered earlier comes first.
    public func misbehave(_ misbehaviours: Misbehaviour...) {
        misbehave(misbehaviours)
    }

    /// Adds to the script; what was ordered earlier comes first.
    public func misbehave(_ misbehaviours: [Misbehaviour]) {
        core.withState { $0.script.add(contentsOf: misbehaviours) }
    }

    /// Withdraws every misbehaviour.
    public func behave() {
        core.withState { $0.script.removeAll() }
    }

    /// The misbehaviours still to come, with what is left of their turns.
    public var script: [Misbehaviour] { core.withState { $0.script.pending } }

    /// Forgets every request received, withdraws every misbehaviour and forgets what was declared since the start.
    public func reset() {
        core.reset()
    }

    /// Says what becomes of a device token; replaces what was said of it before.
    public func declare(_ device: APNsDevice) {
        core.withState { $0.apns.devices.declare(contentsOf: [device]) }
    }

    /// Lets a key send, or changes what one may send for. Connections that have sent with it keep to what it was for then.
    ///
    /// Throws `LabError` where the public key is none.
    public func declare(_ credentials: LabCredentials, topics: Set<String> = []) throws {
        let key = try credentials.providerKey(topics: topics)
        core.withState { state in
            state.apns.keys.removeAll { $0.keyID == key.keyID }
            state.apns.keys.append(key)
        }
    }

    /// Gives the lab a receiver's keys, so that it can read what is sent to its topic.
    ///
    /// Throws `LabError` where they are no keys.
    public func declare(_ receiver: WebPushReceiver) throws {
        try core.declare(receiver)
    }

    /// Says what becomes of a topic of ``LabService/unifiedPush`` or ``LabService/ntfy``.
    public func declare(_ topic: NtfyTopic, at service: LabService) {
        core.withState { $0.topics[service, default: [:]][topic.name] = topic }
    }

    /// Lets an application send to Gotify.
    public func declare(_ application: GotifyApplication) {
        core.withState { $0.gotify.declare(application) }
    }

    /// A Gotify application was deleted, or its token changed: 401 from now on.
    public func revoke(gotifyToken: String) {
        core.withState { $0.gotify.remove(gotifyToken) }
    }

    /// Says what becomes of a registration token; replaces what was said of it before.
    public func declare(_ device: FCMDevice) {
        core.withState { $0.fcm.devices.declare(contentsOf: [device]) }
    }

    /// Every access token is refused from now on, and others can be had.
    public func revokeAccessTokens() {
        core.withState { $0.fcm.accessTokens.revokeAll() }
    }

    /// Makes a browser's subscription to the operator's messages.
    public func subscribe(_ flavour: WebPushFlavour = .apple) throws -> WebPushSubscription {
        let key = vapid?.applicationServerKey
        let subscription = WebPushSubscription(applicationServerKey: key, flavour: flavour)
        try declare(subscription)
        return subscription
    }

    /// Adds a subscription, or has one back that had gone. Throws `LabError` where its id or keys are none.
    public func declare(_ subscription: WebPushSubscription) throws {
        try core.withState { try $0.subscriptions.add(subscription) }
    }

    /// The browser gives a subscription up: messages to it get 410. False where there is none of that id.
    @discardableResult
    public func expire(subscription id: String) -> Bool {
        core.withState { $0.subscriptions.expire(id) }
    }

    /// Where messages for a subscription go; nil where the service was left out.
    public func endpoint(of subscription: WebPushSubscription) -> String? {
        webPushURL.map(subscription.endpoint(at:))
    }
}
