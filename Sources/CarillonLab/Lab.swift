import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL

/// Push services on loopback, as strict as the real ones.
///
///     let lab = try await Lab.start(LabConfiguration())
///     // send to lab.apnsURL with lab.credentials, trusting lab.caFile
///     let request = try await lab.next()
///     #expect(request.status == 200)
///     await lab.shutdown()
public final class Lab: Sendable {
    /// `https://localhost:PORT`
    public let apnsURL: String
    /// Nil where the service was left out.
    public let fcm: LabAddresses.FCM?
    /// `http://localhost:PORT`, to be followed by a slash and a topic; nil where the service was left out.
    public let unifiedPushURL: String?
    /// `https://localhost:PORT`, the origin of subscriptions' endpoints; nil where the service was left out.
    public let webPushURL: String?
    /// What the operator sends Web Push with; nil where the service was left out.
    public let vapid: VAPIDCredentials?
    /// Nil where the endpoint was left out.
    public let controlURL: String?
    /// The path of the authority's certificate that clients should trust, in PEM.
    public let caFile: String
    /// The first of the configuration, made by default.
    public let credentials: LabCredentials

    let core: LabCore
    private let connections: Connections
    private let servers: [any Channel]
    private let folder: LabFolder
    let group: any EventLoopGroup

    /// Starts every service the configuration asks for. Throws where a port is taken or a file is not readable.
    public static func start(_ configuration: LabConfiguration = LabConfiguration()) async throws -> Lab {
        guard let credentials = configuration.apns.credentials.first else {
            throw LabError.invalid("The lab's APNs needs the credentials of at least one provider.")
        }
        let folder = try LabFolder(configuration.folder)
        var servers: [any Channel] = []
        do {
            let core = try LabCore(configuration)
            let tls = try LabTLS(configuration, folder: folder)
            let group = MultiThreadedEventLoopGroup.singleton
            let connections = Connections()
            let host = configuration.host

            let apns = try await HTTP2Server(
                connections: connections,
                tls: try tls.context(protocols: ["h2"]),
                streams: configuration.apns.streamsBeforeAuthorization
            ) { connection in
                APNsDesk(
                    core: core,
                    connection: connection,
                    streamsAfterAuthorization: configuration.apns.streams
                )
            }.start(host: host, port: configuration.apns.port, on: group)
            servers.append(apns)

            var fcm: LabAddresses.FCM?
            if let wanted = configuration.fcm {
                let server = try await Self.startFCM(
                    wanted,
                    core: core,
                    connections: connections,
                    tls: tls,
                    host: host,
                    on: group
                )
                servers.append(server)
                fcm = try Self.introduce(wanted, at: Self.url("https", server), core: core, folder: folder)
            }

            var unifiedPush: (any Channel)?
            if let wanted = configuration.unifiedPush {
                let desk = UnifiedPushDesk(core: core, oversize: wanted.oversize)
                let context = wanted.usesTLS ? try tls.context(protocols: ["http/1.1"]) : nil
                unifiedPush = try await HTTP1Server(connections: connections, tls: context) { request, loop in
                    loop.makeSucceededFuture(desk.decide(request))
                }.start(host: host, port: wanted.port, on: group)
                unifiedPush.map { servers.append($0) }
            }

            let addresses = NIOLockedValueBox<LabAddresses?>(nil)
            var webPush: (any Channel)?
            if let wanted = configuration.webPush {
                let desk = WebPushDesk(core: core) { addresses.withLockedValue { $0?.webPush?.url } ?? "" }
                let context = try tls.context(protocols: ["http/1.1"])
                webPush = try await HTTP1Server(connections: connections, tls: context) { request, loop in
                    loop.makeSucceededFuture(desk.decide(request))
                }.start(host: host, port: wanted.port, on: group)
                webPush.map { servers.append($0) }
            }

            var control: (any Channel)?
            if let port = configuration.controlPort {
                let desk = ControlDesk(core: core, addresses: { addresses.withLockedValue { $0 } })
                control = try await HTTP1Server(connections: connections, tls: nil) { request, loop in
                    desk.decide(request, on: loop)
                }.start(host: host, port: port, on: group)
                control.map { servers.append($0) }
            }
            let scheme = configuration.unifiedPush?.usesTLS == true ? "https" : "http"
            let lab = Lab(
                core: core,
                connections: connections,
                servers: servers,
                folder: folder,
                group: group,
                credentials: credentials,
                caFile: tls.authorityFile,
                apnsURL: try Self.url("https", apns),
                fcm: fcm,
                unifiedPushURL: try unifiedPush.map { try Self.url(scheme, $0) },
                webPushURL: try webPush.map { try Self.url("https", $0) },
                vapid: configuration.webPush?.vapid,
                controlURL: try control.map { try Self.url("http", $0) }
            )
            addresses.withLockedValue { $0 = lab.addresses }
            return lab
        } catch {
            for server in servers {
                try? await server.close()
            }
            folder.remove()
            throw error
        }
    }

    private init(
        core: LabCore,
        connections: Connections,
        servers: [any Channel],
        folder: LabFolder,
        group: any EventLoopGroup,
        credentials: LabCredentials,
        caFile: String,
        apnsURL: String,
        fcm: LabAddresses.FCM?,
        unifiedPushURL: String?,
        webPushURL: String?,
        vapid: VAPIDCredentials?,
        controlURL: String?
    ) {
        self.core = core
        self.connections = connections
        self.servers = servers
        self.folder = folder
        self.group = group
        self.credentials = credentials
        self.caFile = caFile
        self.apnsURL = apnsURL
        self.fcm = fcm
        self.unifiedPushURL = unifiedPushURL
        self.webPushURL = webPushURL
        self.vapid = vapid
        self.controlURL = controlURL
    }

    /// Closes every socket; whoever still waits for a request gets a `LabError`.
    public func shutdown() async {
        for server in servers {
            try? await server.close()
        }
        await connections.closeAll()
        core.recorder.close()
        folder.remove()
    }

    private static func url(_ scheme: String, _ server: any Channel) throws -> String {
        guard let port = server.localAddress?.port else { throw LabError.system("A server of the lab has no port.") }
        return "\(scheme)://localhost:\(port)"
    }
}
