import Console
import Storage
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

/// `api.public_url`: the URL at which plugins are reached from outside, if any.
struct PublicURLTests {
    private func api(_ keys: String) throws(Diagnostics) -> Configuration.API? {
        let text = """
            identity: { key_file: carillon.key }
            store: { path: carillon.sqlite }
            api: { token_file: api.token\(keys) }

            """
        return try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil })
            .read(text).api
    }

    @Test func pluginsAreUnreachableWithoutAPublicURL() throws {
        #expect(try api("")?.console.inbound == nil)
    }

    @Test(arguments: [
        ("https://push.example.com", "https://push.example.com"), ("http://a:8080/x/", "http://a:8080/x"),
    ])
    func instanceURLsStartWithThePublicURL(_ written: String, _ read: String) throws {
        let inbound = try #require(try api(", public_url: \"\(written)\"")?.console.inbound)
        #expect(inbound.publicURL == read)
        // Default: only this machine is a trusted proxy.
        #expect(inbound.isTrustedProxy("127.0.0.1") && !inbound.isTrustedProxy("10.1.2.3"))
        #expect(
            InboundCall.url(publicURL: read, platform: "bot", app: "default") == "\(read)/plugins/bot/default"
        )
    }

    @Test func trustedProxiesAreRead() throws {
        let inbound = try api(", public_url: \"https://a\", trusted_proxies: 10.1.2.0/24")?.console.inbound
        #expect(inbound?.isTrustedProxy("10.1.2.3") == true && inbound?.isTrustedProxy("127.0.0.1") == false)
    }

    @Test(arguments: [
        "push.example.com", "https://", "wss://a", "https://a?b", "https://a#b", "https://a b", "https://ä",
    ])
    func invalidPublicURLIsRefused(_ written: String) throws {
        let mistakes = #expect(throws: Diagnostics.self) { try api(", public_url: \"\(written)\"") }
        #expect(mistakes.map { "\($0)" }?.contains("expected the public URL of the API") == true)
    }
}
