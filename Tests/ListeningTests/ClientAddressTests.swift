import Testing

@testable import Listening

@Suite struct ClientAddressTests {
    private func client(_ peer: String, _ lines: [String] = [], proxies: Set<String> = []) -> ClientAddress? {
        ClientAddress(peer: peer, forwardedFor: lines, isTrustedProxy: proxies.contains)
    }

    @Test(arguments: [
        ("192.0.2.1", [], "192.0.2.1"),
        // Anybody can write the field; it counts from a proxy alone.
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7, 10.0.0.2"], "198.51.100.7"),
        ("::ffff:10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
    ])
    func theClientIsTheLastWhoIsNoProxy(peer: String, lines: [String], expected: String) {
        #expect(client(peer, lines, proxies: ["10.0.0.1", "10.0.0.2"]) == client(expected))
    }

    /// Everybody may be behind it.
    @Test(arguments: [[], [""], ["unknown"], ["198.51.100.7, _hidden"], ["10.0.0.2, 10.0.0.1"]])
    func aProxyThatNamesNobodyIsNoClient(lines: [String]) {
        #expect(client("10.0.0.1", lines, proxies: ["10.0.0.1", "10.0.0.2"]) == nil)
    }

    @Test func whoeverHasANetworkHasAllOfIt() {
        #expect(client("2001:db8::1") == client("2001:db8:0:0:ffff::2"))
        #expect(client("2001:db8::1") != client("2001:db8:0:1::1"))
        #expect(client("192.0.2.1") != client("192.0.2.2"))
        #expect(client("::ffff:192.0.2.1") == client("192.0.2.1"))
    }

    @Test func thisMachineIsKnown() {
        #expect(client("127.0.0.1")?.isLoopback == true && client("::1")?.isLoopback == true)
        #expect(client("::ffff:127.0.0.1")?.isLoopback == true && client("192.0.2.1")?.isLoopback == false)
        #expect(client("") == nil && client("/run/socket") == nil)
    }
}
