import RouterConfiguration
import Testing

@testable import Cluster

struct CredentialsTests {
    /// The pair that the documentation of NATS shows for `nk`.
    @Test func publicKeyFollowsFromTheSeed() throws {
        let key = try #require(NKey(seed: "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"))
        #expect(key.publicKey == "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4")
        #expect("\(key) \(NATSCredentials.key(key)) \(NATSCredentials.token("secret"))".contains("SUACSS") == false)
        #expect("\(NATSCredentials.token("secret"))".contains("secret") == false)
    }

    @Test(arguments: [
        "", "SUACSSL3", "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VZ",
        "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
        "suacssl3uahudxkfsnvuzrf5uhpmwz6bfdtj7m6usdxiednppqyyycu3vy",
    ])
    func invalidSeedIsRefused(_ seed: String) {
        #expect(NKey(seed: seed) == nil)
    }

    @Test func aCredentialsFileHoldsBoth() {
        let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
        let file = """
            -----BEGIN NATS USER JWT-----
            eyJ0.a.b
            ------END NATS USER JWT------

            ************************* IMPORTANT *************************
            -----BEGIN USER NKEY SEED-----
            \(seed)
            ------END USER NKEY SEED------
            """
        guard case .user(let jwt, let key)? = NATSCredentials(file: file) else {
            Issue.record("not read")
            return
        }
        #expect(jwt == "eyJ0.a.b")
        #expect(key.publicKey.hasPrefix("UDXU4"))
        #expect(NATSCredentials(file: file.replacing("NKEY", with: "KEY")) == nil)
        #expect(NATSCredentials(file: "") == nil)
    }

    @Test(arguments: [
        ("nats://a", "a:4222", false), ("tls://a:1", "a:1", true), ("a:2", "a:2", false),
        ("nats://[::1]:3", "[::1]:3", false),
    ])
    func addressesOfServers(_ text: String, _ expected: String, _ wantsTLS: Bool) throws {
        let server = try #require(NATSServer(text))
        #expect("\(server)" == expected)
        #expect(server.wantsTLS == wantsTLS)
    }

    @Test(arguments: ["", "http://a", "nats://", "nats://u:p@a", "nats://a/b", "nats://a:0", "nats://a:99999", "a b"])
    func invalidAddressIsRefused(_ text: String) {
        #expect(NATSServer(text) == nil)
    }
}
