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
            let opening = LabOpening(
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
        _ opening: LabOpening,
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
}

extension Lab {
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
}
