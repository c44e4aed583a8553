import NIOCore
import Synchronization

/// Push services on loopback, as strict as the real ones.
///
///     let lab = try await Lab.start(LabConfiguration())
///     // send to lab.apnsURL with lab.credentials, trusting lab.addresses.caFile
///     let request = try await lab.next()
///     #expect(request.status == 200)
///     await lab.shutdown()
public final class Lab: Sendable {
    /// The lab's addresses, as in `lab.json`.
    public let addresses: LabAddresses
    /// The first credentials of the configuration.
    public let credentials: LabCredentials
    /// Signed by the lab's authority, for both environments. Its topics are the one of ``credentials``, and the same
    /// with `.voip` and `.complication`.
    public let pushCertificate: PushCertificate
    /// The operator's key for Web Push; nil if the service is disabled.
    public let vapid: VAPIDCredentials?

    let core: LabCore
    let group: any EventLoopGroup
    private let authority: CertificateAuthority
    private let sockets: LabSockets
    private let folder: LabFolder

    /// Starts the services of the configuration. Throws if a port is in use or a file is not readable.
    public static func start(_ configuration: LabConfiguration = LabConfiguration()) async throws -> Lab {
        guard let credentials = configuration.apns.credentials.first else {
            throw LabError.invalid("The lab's APNs needs the credentials of at least one provider.")
        }
        let folder = try LabFolder(configuration.folder)
        let sockets = LabSockets(host: configuration.host)
        do {
            let core = try LabCore(configuration)
            let tls = try LabTLS(configuration, folder: folder)
            let addresses = Mutex<LabAddresses?>(nil)
            let known: @Sendable () -> LabAddresses? = { addresses.withLock { $0 } }
            let opening = LabStarter(
                configuration: configuration,
                core: core,
                tls: tls,
                folder: folder,
                sockets: sockets,
                browsers: configuration.browsers.map { _ in Browsers(core) { known()?.webPush?.url ?? "" } }
            )
            let certificate = try opening.writePushCertificate(of: credentials)
            let opened = LabAddresses(
                apns: try await opening.startAPNs(.production, credentials, certificate),
                apnsSandbox: try await opening.startSandbox(credentials, certificate),
                fcm: try await opening.startFCM(),
                unifiedPush: try await opening.startUnifiedPush { known()?.unifiedPush ?? "" },
                webPush: try await opening.startWebPush { known()?.webPush?.url ?? "" },
                browsers: try await opening.startBrowsers(),
                ntfy: try await opening.startNtfy { known()?.ntfy?.url ?? "" },
                gotify: try await opening.startGotify(),
                other: try await opening.startOther(),
                control: try await opening.startControl(known),
                caFile: tls.authorityFile
            )
            addresses.withLock { $0 = opened }
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

    /// Closes every socket. Callers that wait for a request get a `LabError`.
    public func shutdown() async {
        await sockets.closeAll()
        core.recorder.close()
        folder.remove()
    }

    /// Issues another push certificate as Apple does. `daysLeft` may be negative for an expired one.
    ///
    /// The first topic is also the UID of its subject. Throws `LabError` without a topic.
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

    /// `http://localhost:PORT`, to be followed by a slash and a topic; nil if the service is disabled.
    public var unifiedPushURL: String? { addresses.unifiedPush }

    /// `https://localhost:PORT`, the origin of subscriptions' endpoints; nil if the service is disabled.
    public var webPushURL: String? { addresses.webPush?.url }

    /// All requests in the record, in order.
    public var received: [ReceivedRequest] { core.recorder.requests }

    /// Returns the oldest request that this function has not returned yet, and waits for one if necessary.
    ///
    /// Throws `LabError` after the timeout (nil for none) and when the lab is shut down.
    public func next(timeout: Duration? = .seconds(10)) async throws -> ReceivedRequest {
        let wait = core.recorder.awaitUnread(timeout: timeout.map { TimeAmount($0) }, on: group.any())
        guard let request = try await core.recorder.requests(of: wait).first else { throw LabError.closed }
        return request
    }

    /// Waits until `count` requests in the record match, and returns all that do.
    ///
    /// Throws `LabError` after the timeout and when the lab is shut down.
    @discardableResult
    public func waitFor(
        count: Int,
        timeout: Duration = .seconds(10),
        where matching: @escaping @Sendable (ReceivedRequest) -> Bool = { _ in true }
    ) async throws -> [ReceivedRequest] {
        let wait = core.recorder.awaitCount(count, timeout: TimeAmount(timeout), on: group.any(), matching: matching)
        return try await core.recorder.requests(of: wait)
    }

    /// Empties the record.
    public func forgetReceived() {
        core.recorder.removeAll()
    }

    /// Adds misbehaviours to the end of the script.
    public func misbehave(_ misbehaviours: ScriptedBehavior...) {
        misbehave(misbehaviours)
    }

    /// Adds misbehaviours to the end of the script.
    public func misbehave(_ misbehaviours: [ScriptedBehavior]) {
        core.withState { $0.script.add(contentsOf: misbehaviours) }
    }

    /// The remaining misbehaviours, with their remaining turns.
    public var script: [ScriptedBehavior] { core.withState { $0.script.pending } }

    /// Empties the record, withdraws every misbehaviour and undoes all declarations since the start.
    public func reset() {
        core.reset()
    }

    /// Declares a device token. Replaces an earlier declaration.
    public func declare(_ device: APNsDevice) {
        core.withState { $0.apns.devices.declare(contentsOf: [device]) }
    }

    /// Declares a provider's key, or changes its topics. Connections that have used the key keep its former topics.
    ///
    /// Throws `LabError` if the public key is invalid.
    public func declare(_ credentials: LabCredentials, topics: Set<String> = []) throws {
        let key = try credentials.providerKey(topics: topics)
        core.withState { state in
            state.apns.keys.removeAll { $0.keyID == key.keyID }
            state.apns.keys.append(key)
        }
    }

    /// Declares a receiver's keys, so that the lab can decrypt messages to its topic.
    ///
    /// Throws `LabError` if the keys are invalid.
    public func declare(_ receiver: WebPushReceiver) throws {
        try core.declare(receiver)
    }

    /// Declares a topic of ``LabService/unifiedPush`` or ``LabService/ntfy``.
    public func declare(_ topic: NtfyTopic, at service: LabService) {
        core.withState { $0.topics[service, default: [:]][topic.name] = topic }
    }

    /// Declares an application that may send to Gotify.
    public func declare(_ application: GotifyApplication) {
        core.withState { $0.gotify.declare(application) }
    }

    /// Deletes a Gotify application, or its token: 401 from now on.
    public func revoke(gotifyToken: String) {
        core.withState { $0.gotify.remove(gotifyToken) }
    }

    /// Declares a registration token. Replaces an earlier declaration.
    public func declare(_ device: FCMDevice) {
        core.withState { $0.fcm.devices.declare(contentsOf: [device]) }
    }

    /// Revokes every access token. New ones can be requested.
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

    /// Adds a subscription, or restores an ended one. Throws `LabError` if its ID or keys are invalid.
    public func declare(_ subscription: WebPushSubscription) throws {
        try core.withState { try $0.subscriptions.add(subscription) }
    }

    /// Ends a subscription: messages to it get 410. Returns false if there is none with this ID.
    @discardableResult
    public func expire(subscription id: String) -> Bool {
        core.withState { $0.subscriptions.expire(id) }
    }

    /// The endpoint for a subscription's messages; nil if the service is disabled.
    public func endpoint(of subscription: WebPushSubscription) -> String? {
        webPushURL.map(subscription.endpoint(at:))
    }
}
