import CarillonRouter
import Logging
import Storage
import Testing

@testable import RouterConfiguration

@Suite struct ClusterConfigurationTests {
    private func read(_ block: String) throws(Diagnostics) -> Configuration {
        try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil })
            .read(block + "\nidentity: { key_file: carillon.key }\nstore: { path: carillon.sqlite }")
    }

    private func mistakes(_ block: String) -> [String] {
        do {
            _ = try read(block)
            return []
        } catch {
            return error.all.map { String($0.description.drop { $0 != " " }.dropFirst()) }
        }
    }

    @Test func clusterDefaultsToNone() throws {
        let configuration = try read("")
        #expect(configuration.cluster == nil)
    }

    @Test func omittedKeyHasItsDefault() throws {
        let cluster = try #require(try read("cluster: { nats: 10.0.0.1, name: a }").cluster)
        #expect(cluster.servers.map(\.description) == ["10.0.0.1:4222"] && cluster.name.rawValue == "a")
        #expect(cluster.prefix.rawValue == "carillon" && cluster.partitions == 32 && cluster.replicas == 3)
        #expect(cluster.credentials == .none && cluster.tls == nil && cluster.monitoring == [])
        #expect(!cluster.acceptsLossOnPowerCut)
    }

    @Test func everyKeyIsRead() throws {
        let block = """
            cluster:
              nats: [tls://one.example.com, "nats://[::1]:4223"]
              name: router_1
              prefix: push
              partitions: 8
              replicas: 5
              credentials: { user: u, password_file: secrets/nats }
              tls: { ca_file: ca.pem, certificate_file: c.pem, key_file: /k.pem, first: true }
              monitoring: http://one.example.com:8222/
              accept_loss_on_power_cut: true
            """
        let cluster = try #require(try read(block).cluster)
        #expect(cluster.servers.map(\.wantsTLS) == [true, false])
        #expect(cluster.credentials == .password(user: "u", file: "/etc/carillon/secrets/nats"))
        #expect(cluster.tls?.certificateFile == "/etc/carillon/c.pem" && cluster.tls?.keyFile == "/k.pem")
        #expect(cluster.tls?.isFirst == true && cluster.monitoring == ["http://one.example.com:8222"])
        #expect(cluster.prefix.rawValue == "push" && cluster.partitions == 8 && cluster.replicas == 5)
        #expect(cluster.acceptsLossOnPowerCut)
    }

    @Test(arguments: [
        ("nats: a", "'name' is missing"), ("name: a", "'nats' is missing"), ("nats: [], name: a", "expected a server"),
        ("nats: a, name: a b", "1 to 64 letters"), ("nats: a, name: a, prefix: a.b", "1 to 64 letters"),
        ("nats: \"nats://u:secret@a\", name: a", "without credentials"), ("nats: [a, a], name: a", "named twice"),
        ("nats: a, name: a, partitions: 0", "1 to 256"), ("nats: a, name: a, replicas: 2", "1, 3 or 5"),
        ("nats: a, name: a, credentials: { user: u }", "user requires password_file"),
        ("nats: a, name: a, credentials: { creds_file: a, token_file: b }", "expected one of"),
        ("nats: a, name: a, credentials: {}", "expected creds_file"),
        ("nats: a, name: a, tls: { key_file: k }", "are required together"),
        ("nats: a, name: a, monitoring: one:8222", "http://10.0.0.1:8222"),
    ])
    func errorsAreNamed(_ block: String, _ expected: String) {
        let found = mistakes("cluster: { \(block) }")
        #expect(found.count == 1 && found.allSatisfy { $0.contains(expected) }, "\(found)")
        #expect(!found.contains { $0.contains("secret") })
    }

    /// Two routers that both ignored the block would send every push twice.
    @Test func servingApartFromTheClusterIsRefused() throws {
        let configuration = try read("cluster: { nats: a, name: a }")
        let refusal = #expect(throws: RouterError.self) {
            _ = try Router(
                configuration: configuration,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }
        #expect(refusal?.description.contains("not joined") == true)
    }

    private static func text(
        _ member: String,
        listen: String = "10.0.0.1:7447",
        folder: String = "/etc/carillon",
        limit: Int = 5
    ) -> String {
        """
        identity: { key_file: \(folder)/carillon.key }
        store: { path: \(folder)/\(member).sqlite }
        relay: { listen: "\(listen)", url: "ws://\(listen)", name: "Push at \(member)", limits: { connections: \(limit) } }
        rules: [\(folder)/rules.yaml]
        plugins: { folders: \(folder)/plugins }
        api: { listen: "\(listen)", token_file: \(folder)/token }
        apps: { default: { ios: { key_file: \(folder)/AuthKey.p8, team_id: ABCDE12345 } } }
        cluster: { nats: ["nats://\(listen)"], name: \(member) }
        """
    }

    @Test func configurationsMayDifferInNamesAddressesAndFolders() throws {
        let one = try #require(Configuration.Cluster.fingerprint(of: Self.text("router-1"), member: "router-1"))
        let other = Self.text("router-2", listen: "10.0.0.2:7000", folder: "/srv/push")
        #expect(Configuration.Cluster.fingerprint(of: "# Another comment.\n" + other, member: "router-2") == one)
        let lines = other.split(separator: "\n").reversed().joined(separator: "\n")
        #expect(Configuration.Cluster.fingerprint(of: lines, member: "router-2") == one)
    }

    @Test func otherDifferencesMatter() throws {
        let text = Self.text("router-1")
        let one = Configuration.Cluster.fingerprint(of: text, member: "router-1")
        let others = [
            Self.text("router-1", limit: 6), text.replacing("ABCDE12345", with: "ABCDE12346"),
            text.replacing("AuthKey.p8", with: "AuthKey2.p8"), text + "\nrelays: { always: [wss://relay.example] }",
        ]
        for other in others { #expect(Configuration.Cluster.fingerprint(of: other, member: "router-1") != one) }
    }
}
