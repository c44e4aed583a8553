import Core
import Foundation
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Nostr
import Operations
import RouterConfiguration
import Synchronization

/// The result of `carillon cluster check`.
package struct ClusterReport: OperatorAnswer {
    package struct Server: Codable, Sendable {
        /// The address in the configuration.
        package var address: String
        package var name: String?
        package var version: String?
        /// Whether it flushes to disk before it acknowledges; nil: unknown.
        package var flushesFirst: Bool?
        /// Why it cannot be used; nil: it can be used.
        package var problem: String?
    }

    package var servers: [Server] = []
    /// Passed checks and useful facts.
    package var findings: [String] = []
    /// Problems that prevent the cluster from working.
    package var problems: [String] = []

    package var isUsable: Bool { problems.isEmpty }

    package var text: String {
        let servers = servers.map { server in
            let name = server.name.map { " \($0)" } ?? ""
            let version = server.version.map { ", version \($0)" } ?? ""
            let flush =
                switch server.flushesFirst {
                case true?: ", flushes before it acknowledges"
                case false?: ", acknowledges before it flushes"
                case nil: ""
                }
            return "server\(name) at \(server.address): " + (server.problem ?? "reached\(version)\(flush)")
        }
        return
            (servers + findings + problems.map { "problem: \($0)" }
            + [isUsable ? "the servers can carry a cluster" : "the servers cannot carry a cluster"])
            .joined(separator: "\n")
    }
}

/// Checks the servers of a cluster without changing anything there.
package struct ClusterCheck {
    package static let oldestVersion = (major: 2, minor: 12)

    private let cluster: Configuration.Cluster
    private let seal: MemberSeal?

    /// `identity` is the router's key. If it is nil, members' records are not compared.
    package init(_ cluster: Configuration.Cluster, _ identity: KeyPair?) {
        self.cluster = cluster
        seal = identity.map { MemberSeal(secret: $0.secret.reveal()) }
    }

    /// Throws an ``OperationError`` if files with credentials or certificates are invalid, or if sockets cannot be
    /// opened.
    package func run() async throws -> ClusterReport {
        let settings = try cluster.settings()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let result: Result<ClusterReport, any Error>
        do {
            result = .success(try await run(settings, group))
        } catch {
            result = .failure(error)
        }
        try await group.shutdownGracefully()
        return try result.get()
    }

    private func run(_ settings: NATSSettings, _ group: MultiThreadedEventLoopGroup) async throws -> ClusterReport {
        var report = ClusterReport()
        var client: NATSClient?
        for server in settings.servers {
            var found = ClusterReport.Server(address: "\(server)")
            do {
                let probe = try await ServerProbe(server, settings, on: group.next())
                (found.name, found.version) = (probe.info.name, probe.info.version)
                if !probe.info.isAtLeast(Self.oldestVersion.major, Self.oldestVersion.minor) {
                    let needed = "\(Self.oldestVersion.major).\(Self.oldestVersion.minor)"
                    found.problem = "version \(probe.info.version) is too old; \(needed) or newer is needed"
                }
                if client == nil, found.problem == nil { client = probe.client } else { probe.client.close() }
            } catch let failure as OperationError {
                found.problem = failure.description
            }
            report.servers.append(found)
        }
        await addFlushing(&report, group)
        judge(&report)
        if let client {
            await lookAround(client, &report)
            client.close()
        }
        return report
    }

    private func judge(_ report: inout ClusterReport) {
        let usable = report.servers.filter { $0.problem == nil }
        if usable.isEmpty { report.problems.append("no server can be used") }
        for server in report.servers where server.version != nil && server.problem != nil {
            report.problems.append("the server at \(server.address) must be updated")
        }
        if usable.count < report.servers.count, !usable.isEmpty {
            report.findings.append("\(usable.count) of \(report.servers.count) servers can be used")
        }
        if report.servers.count < cluster.replicas {
            report.findings.append(
                "cluster.nats names \(report.servers.count) servers for \(cluster.replicas) replicas; others may be known "
                    + "to these"
            )
        }
        if cluster.replicas == 1 {
            report.findings.append("replicas: 1: what the one server has is gone when its disk is")
        }
        guard !usable.isEmpty else { return }
        let (late, unknown) = (usable.filter { $0.flushesFirst == false }, usable.filter { $0.flushesFirst == nil })
        guard !late.isEmpty || !unknown.isEmpty else {
            return report.findings.append("what the servers acknowledge survives a power cut")
        }
        let names = (late + unknown).map { $0.name ?? $0.address }.joined(separator: ", ")
        let what =
            late.isEmpty
            ? "whether \(names) flush before they acknowledge is not known: cluster.monitoring does not show it"
            : "\(names): sync_interval is not 'always', so a power cut at all servers loses what was acknowledged since the last flush"
        if cluster.acceptsLossOnPowerCut {
            report.findings.append("\(what); cluster.accept_loss_on_power_cut takes that")
        } else {
            report.problems.append(
                "\(what). Set jetstream { sync_interval: always } on each server and name their monitoring, or say "
                    + "cluster.accept_loss_on_power_cut: true"
            )
        }
    }

    // MARK: How servers flush

    /// A server's monitoring data at /varz.
    private struct Varz: Decodable {
        struct JetStream: Decodable {
            struct Config: Decodable {
                let syncAlways: Bool?

                enum CodingKeys: String, CodingKey { case syncAlways = "sync_always" }
            }

            let config: Config?
        }

        let name: String?
        let jetstream: JetStream?

        enum CodingKeys: String, CodingKey {
            case name = "server_name"
            case jetstream
        }
    }

    private func addFlushing(_ report: inout ClusterReport, _ group: MultiThreadedEventLoopGroup) async {
        guard !cluster.monitoring.isEmpty else { return }
        let log = Logger(label: "carillon.cluster-check") { _ in SwiftLogNoOpLogHandler() }
        var configuration = HTTPLanes.Configuration()
        configuration.caFile = cluster.tls?.caFile
        guard let lanes = try? HTTPLanes(configuration: configuration, group: group, logger: log) else {
            return report.findings.append("the roots in cluster.tls.ca_file are of no use for cluster.monitoring")
        }
        for url in cluster.monitoring {
            let request = HTTPRequest(
                method: "GET",
                url: url + "/varz",
                timeout: .seconds(5),
                maxResponseBytes: .mebibytes(1)
            )
            let result = await withCheckedContinuation { continuation in
                lanes.send(request) { continuation.resume(returning: $0) }
            }
            guard case .success(let response) = result, response.status == 200,
                let varz = try? JSONDecoder().decode(Varz.self, from: Data(response.body)), let name = varz.name
            else {
                report.findings.append("the monitoring at \(url) does not answer as nats-server does")
                continue
            }
            for index in report.servers.indices where report.servers[index].name == name {
                report.servers[index].flushesFirst = varz.jetstream?.config?.syncAlways ?? false
            }
        }
        await lanes.shutdown()
    }

    // MARK: Existing streams

    private func lookAround(_ client: NATSClient, _ report: inout ClusterReport) async {
        // Before the servers elect a leader, there is no response.
        let stream = JetStream(client, timeout: .seconds(2))
        do throws(NATSError) {
            try await stream.probe()
        } catch {
            switch error {
            case .noResponders: report.problems.append("JetStream is not on, or not for this account")
            case .refused(_, let words): report.problems.append("JetStream refuses this account: \(words)")
            default: report.problems.append("JetStream: \(error); are enough servers up for a leader?")
            }
            return
        }
        do throws(NATSError) {
            guard let found = try await cluster.layout.find(in: stream, seal) else {
                return report.findings.append("there is no cluster '\(cluster.prefix)' yet; its first member makes it")
            }
            let members = found.members.map(\.rawValue).joined(separator: ", ")
            if let partitions = found.partitions {
                report.findings.append(
                    "the cluster '\(cluster.prefix)' has \(partitions) partitions; members that wrote themselves in: "
                        + members
                )
                if partitions != cluster.partitions {
                    report.problems.append(
                        "\(ClusterError.otherPartitions(partitions, configured: cluster.partitions))"
                    )
                }
            } else if seal == nil {
                report.findings.append(
                    "there is a cluster '\(cluster.prefix)'; its partitions are not compared without the router's key"
                )
            } else {
                report.findings.append(
                    "no record of the cluster '\(cluster.prefix)' was made with this router's key. Compare the key "
                        + "files of its members: \(members)"
                )
            }
        } catch {
            report.problems.append("the cluster's bucket cannot be read: \(error)")
        }
    }
}

extension Configuration.Cluster {
    var layout: ClusterLayout { ClusterLayout(prefix: prefix) }

    /// The client settings, with the credentials and certificates that the files contain now. Throws an
    /// ``OperationError`` that names the key of an unusable file.
    func settings() throws(OperationError) -> NATSSettings {
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

    private func readCredentials() throws(OperationError) -> NATSCredentials {
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

    private func tlsConfiguration() throws(OperationError) -> TLSConfiguration? {
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

/// A connection to exactly one server, for checks.
struct ServerProbe {
    /// The connected client.
    let client: NATSClient
    let info: ServerInfo

    /// Throws an ``OperationError`` with the reason if the server cannot be used.
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
                throw OperationError.unavailable(reason)
            }
        }
        throw OperationError.unavailable("the check was interrupted")
    }
}
