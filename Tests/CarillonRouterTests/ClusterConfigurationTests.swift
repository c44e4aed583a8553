import CarillonRouter
import Cluster
import Logging
import NATS
import Testing
import YAMLReading

@testable import RouterConfiguration

/// The block on the cluster.
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

    @Test func withoutTheBlockThereIsNone() throws {
        let configuration = try read("")
        #expect(configuration.cluster == nil)
    }

    @Test func whatIsLeftOutHasItsDefault() throws {
        let cluster = try #require(try read("cluster: { nats: 10.0.0.1, name: a }").cluster)
        #expect(cluster.servers.map(\.description) == ["10.0.0.1:4222"] && cluster.name.rawValue == "a")
        #expect(cluster.prefix.rawValue == "carillon" && cluster.partitions == 32 && cluster.replicas == 3)
        #expect(cluster.credentials == .none && cluster.tls == nil && cluster.monitoring == [])
        #expect(!cluster.acceptsLossOnPowerCut)
    }

    @Test func everythingCanBeSaid() throws {
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
        ("nats: a, name: a, credentials: { user: u }", "needs a password_file"),
        ("nats: a, name: a, credentials: { creds_file: a, token_file: b }", "expected one of"),
        ("nats: a, name: a, credentials: {}", "expected creds_file"),
        ("nats: a, name: a, tls: { key_file: k }", "belong together"),
        ("nats: a, name: a, monitoring: one:8222", "http://10.0.0.1:8222"),
    ])
    func mistakesAreNamed(_ block: String, _ expected: String) {
        let found = mistakes("cluster: { \(block) }")
        #expect(found.count == 1 && found.allSatisfy { $0.contains(expected) }, "\(found)")
        #expect(!found.contains { $0.contains("secret") })
    }

    /// Two routers that both ignored the block would send everything twice.
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
}
