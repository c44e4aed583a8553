import NIOCore

extension Lab {
    /// Starts FCM with the token endpoint beside it.
    static func startFCM(
        _ configuration: LabConfiguration.FCM,
        core: LabCore,
        connections: Connections,
        tls: LabTLS,
        host: String,
        on group: any EventLoopGroup
    ) async throws -> any Channel {
        let lifetime = configuration.tokenLifetime
        return try await HTTP2Server(
            connections: connections,
            tls: try tls.context(protocols: ["h2"]),
            streams: configuration.streams
        ) { connection in
            FCMDesk(core: core, connection: connection, tokenLifetime: lifetime)
        }.start(host: host, port: configuration.port, on: group)
    }

    /// Tells the operator where FCM is, and the token endpoint what it is called.
    static func introduce(
        _ configuration: LabConfiguration.FCM,
        at url: String,
        core: LabCore,
        folder: LabFolder
    ) throws -> LabAddresses.FCM {
        guard let account = configuration.accounts.first else {
            throw LabError.invalid("The lab's FCM needs a service account at least.")
        }
        let tokenURL = url + FCMDesk.tokenPath
        core.withState { $0.fcm.tokenURL = tokenURL }
        let file = try folder.write(account.json(tokenURI: tokenURL), to: "service-account.json", isSecret: true)
        return LabAddresses.FCM(
            url: url,
            tokenURL: tokenURL,
            projectID: account.projectID,
            serviceAccountFile: file
        )
    }

    /// Says what becomes of a registration token; replaces what was said of it before.
    public func declare(_ device: FCMDevice) {
        core.withState { $0.fcm.devices.declare(contentsOf: [device]) }
    }

    /// Every access token is refused from now on, and others can be had.
    public func revokeAccessTokens() {
        core.withState { $0.fcm.accessTokens.revokeAll() }
    }
}
