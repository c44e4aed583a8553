import Cluster
import Foundation
import Logging
import NATS
import NIOCore
import NIOSSL
import RouterConfiguration
import Synchronization

extension Configuration.Cluster {
    /// How the servers are reached, with the credentials and certificates that the files hold now. Throws an
    /// ``OperationFailure`` that names the key whose file is of no use.
    package func settings() throws(OperationFailure) -> NATSSettings {
        var settings = NATSSettings(
            servers: servers.map { server in
                var server = server
                server.securesFirst = tls?.isFirst ?? false
                return server
            },
            name: "carillon \(name)"
        )
        settings.credentials = try readCredentials()
        settings.tls = try tlsConfiguration()
        return settings
    }

    private func readCredentials() throws(OperationFailure) -> NATSCredentials {
        guard let file = credentials.file else { return .none }
        guard let data = FileManager.default.contents(atPath: file), data.count <= 64 << 10,
            let text = String(validating: data, as: UTF8.self)
        else { throw .unavailable("cluster.credentials: cannot read \(file)") }
        let line = text.trimmingCharacters(in: .whitespacesAndNewlines)
        switch credentials {
        case .none: return .none
        case .token: return .token(line)
        case .password(let user, _): return .password(user: user, line)
        case .key:
            guard let key = NKey(seed: line) else {
                throw .unavailable("cluster.credentials.nkey_file: \(file) holds no seed of an nkey (SU…)")
            }
            return .key(key)
        case .file:
            guard let credentials = NATSCredentials(file: text) else {
                throw .unavailable("cluster.credentials.creds_file: \(file) holds no JWT with a seed, as nsc writes it")
            }
            return credentials
        }
    }

    private func tlsConfiguration() throws(OperationFailure) -> TLSConfiguration? {
        guard let tls else { return nil }
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let file = tls.caFile {
            guard (try? NIOSSLCertificate.fromPEMFile(file))?.isEmpty == false else {
                throw .unavailable("cluster.tls.ca_file: \(file) holds no certificates as PEM")
            }
            configuration.trustRoots = .file(file)
        }
        if let file = tls.certificateFile, let keyFile = tls.keyFile {
            guard let chain = try? NIOSSLCertificate.fromPEMFile(file), !chain.isEmpty else {
                throw .unavailable("cluster.tls.certificate_file: \(file) holds no certificates as PEM")
            }
            guard let key = try? NIOSSLPrivateKey(file: keyFile, format: .pem) else {
                throw .unavailable("cluster.tls.key_file: \(keyFile) holds no key as PEM")
            }
            configuration.certificateChain = chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(key)
        }
        return configuration
    }
}

/// Connects to one server and to no other.
struct ServerProbe {
    /// The client, once the server has let it in.
    let client: NATSClient
    let info: ServerInfo

    /// Throws an ``OperationFailure`` with the reason when the server cannot be used.
    init(_ server: NATSServer, _ settings: NATSSettings, on loop: any EventLoop) async throws {
        var settings = settings
        settings.servers = settings.servers.filter { $0 == server }
        settings.followsDiscoveredServers = false
        let (events, told) = AsyncStream.makeStream(of: NATSClient.Event.self)
        var random = SystemRandomNumberGenerator()
        let log = Logger(label: "carillon.cluster-check") { _ in SwiftLogNoOpLogHandler() }
        let client = try NATSClient(settings, loop: loop, random: &random, log: log) { told.yield($0) }
        client.start()
        for await event in events {
            switch event {
            case .connected(let info):
                (self.client, self.info) = (client, info)
                return
            case .disconnected(let reason):
                client.close()
                throw OperationFailure.unavailable(reason)
            }
        }
        throw OperationFailure.unavailable("the check was interrupted")
    }
}
