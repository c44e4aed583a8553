import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// Starts the services of a lab one by one.
struct LabStarter {
    let configuration: LabConfiguration
    let core: LabCore
    let tls: LabTLS
    let folder: LabFolder
    let sockets: LabSockets
    /// Nil if the configuration has none.
    let browsers: Browsers?

    /// Opens an HTTP/1.1 service. `responder` answers synchronously.
    func open(
        port: Int,
        usesTLS: Bool,
        _ responder: @escaping @Sendable (LabRequest) -> HTTP1Step
    ) async throws -> String {
        let context = usesTLS ? try tls.context(protocols: ["http/1.1"]) : nil
        let server = HTTP1Server(connections: sockets.connections, tls: context) { request, loop in
            loop.makeSucceededFuture(responder(request))
        }
        return try await sockets.open(server, port: port)
    }

    func startWebPush(_ origin: @escaping @Sendable () -> String) async throws -> LabAddresses.WebPush? {
        guard let wanted = configuration.webPush else { return nil }
        let responder = WebPushResponder(
            core: core,
            names: configuration.serverNames,
            browsers: browsers,
            origin: origin
        )
        return LabAddresses.WebPush(
            url: try await open(port: wanted.port, usesTLS: true, responder.decide),
            applicationServerKey: wanted.vapid.applicationServerKey
        )
    }

    /// Starts the services that browsers connect to.
    func startBrowsers() async throws -> LabAddresses.Browsers? {
        guard let wanted = configuration.browsers, let browsers else { return nil }
        guard configuration.webPush != nil else {
            throw LabError.invalid("Browsers require the lab's Web Push service: enable it.")
        }
        let connections = sockets.connections
        let firefox = FirefoxServer(connections: connections, browsers: browsers)
        let messages = ChromiumServer(connections: connections, tls: try tls.context(protocols: []), browsers: browsers)
        let firefoxURL = try await sockets.open(firefox, port: wanted.firefoxPort)
        let google = try await open(port: wanted.chromiumPort, usesTLS: false) { .answer(browsers.answer(google: $0)) }
        return LabAddresses.Browsers(
            firefoxURL: firefoxURL + "/",
            chromiumSwitches: [
                "--gcm-checkin-url=" + google + GooglePath.checkIn,
                "--gcm-registration-url=" + google + GooglePath.registration,
                "--gcm-mcs-endpoint=" + (try await sockets.open(messages, port: wanted.chromiumMessagesPort)),
                "--ignore-certificate-errors-spki-list=" + (try tls.keyHash()),
            ],
            chromiumEndpointHost: GoogleBrowsers.endpointHost
        )
    }

    func startControl(_ addresses: @escaping @Sendable () -> LabAddresses?) async throws -> String? {
        guard let port = configuration.controlPort else { return nil }
        let responder = ControlResponder(core: core, browsers: browsers, addresses: addresses)
        let server = HTTP1Server(connections: sockets.connections, tls: nil) { request, loop in
            responder.decide(request, on: loop)
        }
        return try await sockets.open(server, port: port)
    }

    /// A push certificate and its files.
    struct WrittenCertificate {
        var certificate: PushCertificate
        var pemFile: String
        var pkcs12File: String
        var passwordFile: String
    }

    func writePushCertificate(of credentials: LabCredentials) throws -> WrittenCertificate {
        let topics = [APNsPushType.alert, .voip, .complication].map { credentials.topic + $0.topicSuffix }
        let made = try tls.authority.issuePush(
            topics: topics,
            environments: Set(APNsEnvironment.allCases),
            valid: LabTLS.now - 86_400..<LabTLS.now + 365 * 86_400
        )
        let name = "push-certificate"
        let pem = Array((made.certificatePEM + made.keyPEM).utf8)
        return WrittenCertificate(
            certificate: made,
            pemFile: try folder.write(pem, to: name + ".pem", isSecret: true),
            pkcs12File: try folder.write(made.pkcs12, to: name + ".p12", isSecret: true),
            passwordFile: try folder.write(made.password + "\n", to: name + ".password", isSecret: true)
        )
    }

    func startSandbox(
        _ credentials: LabCredentials,
        _ certificate: WrittenCertificate
    ) async throws -> LabAddresses.APNs? {
        guard configuration.apns.sandboxPort != nil else { return nil }
        return try await startAPNs(.sandbox, credentials, certificate)
    }

    /// Starts one of APNs' environments: a server for pushes and one for managing channels.
    func startAPNs(
        _ environment: APNsEnvironment,
        _ credentials: LabCredentials,
        _ certificate: WrittenCertificate
    ) async throws -> LabAddresses.APNs {
        let wanted = configuration.apns
        let core = core
        let sending = try server(streams: wanted.streamsBeforeAuthorization) { peer in
            APNsResponder(core: core, peer: peer, environment: environment, streamsAfterAuthorization: wanted.streams)
        }
        let managing = try server(streams: wanted.streams) { peer in
            APNsChannelResponder(core: core, peer: peer, environment: environment)
        }
        let isProduction = environment == .production
        return LabAddresses.APNs(
            url: try await sockets.open(sending, port: isProduction ? wanted.port : wanted.sandboxPort ?? 0),
            teamID: credentials.teamID,
            keyID: credentials.keyID,
            topic: credentials.topic,
            channelsURL: try await sockets.open(managing, port: isProduction ? wanted.channelsPort : 0),
            certificateFile: certificate.pemFile,
            pkcs12File: certificate.pkcs12File,
            passwordFile: certificate.passwordFile
        )
    }

    private func server(
        streams: Int,
        _ makeResponder: @escaping @Sendable (HTTP2Peer) -> any HTTP2Responder
    ) throws -> HTTP2Server {
        HTTP2Server(
            connections: sockets.connections,
            tls: try tls.context(protocols: ["h2"], asksForCertificates: true),
            streams: streams,
            certificates: ClientCertificateReader(authorityPEM: tls.authority.certificatePEM),
            makeResponder: makeResponder
        )
    }

    /// Starts FCM with its token endpoint, and writes the service accounts.
    func startFCM() async throws -> LabAddresses.FCM? {
        guard let wanted = configuration.fcm else { return nil }
        guard let account = wanted.accounts.first else {
            throw LabError.invalid("The lab's FCM needs a service account at least.")
        }
        let core = core
        let server = HTTP2Server(
            connections: sockets.connections,
            tls: try tls.context(protocols: ["h2"]),
            streams: wanted.streams
        ) { _ in
            FCMResponder(core: core, tokenLifetime: wanted.tokenLifetime)
        }
        let url = try await sockets.open(server, port: wanted.port)
        let tokenURL = url + FCMResponder.tokenPath
        core.withState { $0.fcm.tokenURL = tokenURL }
        var projects: [LabAddresses.FCM.Project] = []
        for (index, account) in wanted.accounts.enumerated() {
            let name = index == 0 ? "service-account.json" : "service-account-\(index + 1).json"
            let file = try folder.write(account.json(tokenURI: tokenURL), to: name, isSecret: true)
            projects.append(LabAddresses.FCM.Project(projectID: account.projectID, serviceAccountFile: file))
        }
        return LabAddresses.FCM(
            url: url,
            tokenURL: tokenURL,
            projectID: account.projectID,
            serviceAccountFile: projects[0].serviceAccountFile,
            projects: projects
        )
    }

    func startUnifiedPush(_ origin: @escaping @Sendable () -> String) async throws -> String? {
        guard let wanted = configuration.unifiedPush else { return nil }
        let responder = NtfyResponder(
            core: core,
            service: .unifiedPush,
            oversize: wanted.oversize,
            access: NtfyAccess(),
            origin: origin
        )
        return try await open(port: wanted.port, usesTLS: wanted.usesTLS, responder.decide)
    }

    func startNtfy(_ origin: @escaping @Sendable () -> String) async throws -> LabAddresses.Ntfy? {
        guard let wanted = configuration.ntfy else { return nil }
        let access = NtfyAccess(allowsAnonymous: wanted.allowsAnonymous, tokens: wanted.accessTokens)
        let responder = NtfyResponder(
            core: core,
            service: .ntfy,
            oversize: wanted.oversize,
            access: access,
            origin: origin
        )
        return LabAddresses.Ntfy(
            url: try await open(port: wanted.port, usesTLS: wanted.usesTLS, responder.decide),
            accessToken: wanted.accessTokens.keys.sorted().first
        )
    }

    func startOther() async throws -> String? {
        guard let port = configuration.otherPort else { return nil }
        return try await open(port: port, usesTLS: false, OtherResponder(core: core).decide)
    }

    func startGotify() async throws -> LabAddresses.Gotify? {
        guard let wanted = configuration.gotify else { return nil }
        return LabAddresses.Gotify(
            url: try await open(port: wanted.port, usesTLS: wanted.usesTLS, GotifyResponder(core: core).decide),
            token: wanted.applications.first?.token
        )
    }
}

/// A lab's listeners and their connections.
final class LabSockets: Sendable {
    let group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    let connections = Connections()
    private let host: String
    private let servers = Mutex<[any Channel]>([])

    init(host: String) {
        self.host = host
    }

    /// Returns `http://localhost:PORT` or `https://localhost:PORT`.
    func open(_ server: some LabServer, port: Int) async throws -> String {
        let channel = try await server.start(host: host, port: port, on: group)
        servers.withLock { $0.append(channel) }
        guard let port = channel.localAddress?.port else { throw LabError.system("A server of the lab has no port.") }
        return "\(server.scheme)://localhost:\(port)"
    }

    func closeAll() async {
        for server in servers.withLock({ $0 }) {
            try? await server.close()
        }
        await connections.closeAll()
    }
}

/// The open connections of a lab, numbered from 1.
final class Connections: Sendable {
    private struct State {
        var last = 0
        var open: [Int: any Channel] = [:]
    }

    private let state = Mutex(State())

    func add(_ channel: any Channel) -> Int {
        let number = state.withLock { state in
            state.last += 1
            state.open[state.last] = channel
            return state.last
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { $0.open[number] = nil }
        }
        return number
    }

    /// Closes every connection and waits until they are closed.
    func closeAll() async {
        let channels = state.withLock { Array($0.open.values) }
        for channel in channels {
            channel.close(promise: nil)
        }
        for channel in channels {
            try? await channel.closeFuture.get()
        }
    }
}

/// The directory for a lab's files: a given one, or a temporary one that is removed at shutdown.
struct LabFolder: Sendable {
    let path: String
    private let isOwn: Bool

    init(_ path: String?) throws(LabError) {
        isOwn = path == nil
        self.path = path ?? NSTemporaryDirectory() + "/carillon-lab-" + UUID().uuidString.lowercased()
        do {
            try FileManager.default.createDirectory(
                atPath: self.path,
                withIntermediateDirectories: true,
                attributes: isOwn ? [.posixPermissions: 0o700] : nil
            )
        } catch {
            throw LabError.system("The folder \(self.path) cannot be made: \(error.localizedDescription)")
        }
    }

    /// Writes a file atomically and returns its path. Only its owner can read a secret.
    func write(_ text: String, to name: String, isSecret: Bool = false) throws(LabError) -> String {
        try write(Array(text.utf8), to: name, isSecret: isSecret)
    }

    func write(_ bytes: [UInt8], to name: String, isSecret: Bool = false) throws(LabError) -> String {
        let file = path + "/" + name
        let partial = file + ".partial"
        try? FileManager.default.removeItem(atPath: partial)
        let isMade = FileManager.default.createFile(
            atPath: partial,
            contents: Data(bytes),
            attributes: [.posixPermissions: isSecret ? 0o600 : 0o644]
        )
        guard isMade, rename(partial, file) == 0 else {
            throw LabError.system("\(file) cannot be written.")
        }
        return file
    }

    func remove() {
        if isOwn {
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}
