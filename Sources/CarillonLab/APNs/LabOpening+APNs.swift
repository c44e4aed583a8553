extension LabOpening {
    /// A push certificate and where it was written.
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

    /// One of APNs' environments: where pushes are sent, and where channels are managed.
    func startAPNs(
        _ environment: APNsEnvironment,
        _ credentials: LabCredentials,
        _ certificate: WrittenCertificate
    ) async throws -> LabAddresses.APNs {
        let wanted = configuration.apns
        let core = core
        let sending = try server(streams: wanted.streamsBeforeAuthorization) { peer in
            APNsDesk(core: core, peer: peer, environment: environment, streamsAfterAuthorization: wanted.streams)
        }
        let managing = try server(streams: wanted.streams) { peer in
            APNsChannelDesk(core: core, peer: peer, environment: environment)
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
        _ makeDesk: @escaping @Sendable (HTTP2Peer) -> any HTTP2Desk
    ) throws -> HTTP2Server {
        HTTP2Server(
            connections: sockets.connections,
            tls: try tls.context(protocols: ["h2"], asksForCertificates: true),
            streams: streams,
            certificates: ClientCertificateReader(authorityPEM: tls.authority.certificatePEM),
            makeDesk: makeDesk
        )
    }
}
