import NIOCore

/// Starts the services of a lab one by one.
struct LabStarter {
    let configuration: LabConfiguration
    let core: LabCore
    let tls: LabTLS
    let folder: LabFolder
    let sockets: LabSockets
    /// Nil if the configuration has none.
    let browsers: Browsers?

    /// Opens a service of HTTP/1.1. `responder` answers synchronously.
    func open(
        port: Int,
        usesTLS: Bool,
        _ responder: @escaping @Sendable (LabRequest) -> HTTP1Conduct
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

    /// Starts what browsers connect to.
    func startBrowsers() async throws -> LabAddresses.Browsers? {
        guard let wanted = configuration.browsers, let browsers else { return nil }
        guard configuration.webPush != nil else {
            throw LabError.invalid("Browsers get what the lab's Web Push service accepts. It cannot be left out.")
        }
        let connections = sockets.connections
        let firefox = FirefoxServer(connections: connections, browsers: browsers)
        let messages = ChromiumServer(
            connections: connections,
            tls: try tls.context(protocols: []),
            browsers: browsers
        )
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

    /// Starts Push Kit with its token endpoint.
    func startHMS() async throws -> LabAddresses.HMS? {
        guard let wanted = configuration.hms else { return nil }
        guard let application = wanted.applications.first else {
            throw LabError.invalid("The lab's Push Kit needs an app at least.")
        }
        let responder = HMSResponder(core: core, tokenLifetime: wanted.tokenLifetime)
        let url = try await open(port: wanted.port, usesTLS: true, responder.decide)
        return LabAddresses.HMS(
            url: url,
            tokenURL: url + HMSResponder.tokenPath,
            appID: application.appID,
            clientSecret: application.clientSecret
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
