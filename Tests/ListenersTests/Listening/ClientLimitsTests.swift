import NIOCore
import NIOEmbedded
import Testing
import TimeTestSupport

@testable import Listeners

@Suite struct ClientAddressTests {
    private func client(_ peer: String, _ lines: [String] = [], proxies: Set<String> = []) -> ClientAddress? {
        ClientAddress(peer: peer, forwardedFor: lines, isTrustedProxy: proxies.contains)
    }

    @Test(arguments: [
        ("192.0.2.1", [], "192.0.2.1"),
        // Any client can write the field, so it counts only from a proxy.
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7, 10.0.0.2"], "198.51.100.7"),
        ("::ffff:10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
    ])
    func clientIsTheLastAddressThatIsNotAProxy(peer: String, lines: [String], expected: String) {
        #expect(client(peer, lines, proxies: ["10.0.0.1", "10.0.0.2"]) == client(expected))
    }

    /// All clients may be behind it.
    @Test(arguments: [[], [""], ["unknown"], ["198.51.100.7, _hidden"], ["10.0.0.2, 10.0.0.1"]])
    func proxyWithoutAClientAddressGivesNoClient(lines: [String]) {
        #expect(client("10.0.0.1", lines, proxies: ["10.0.0.1", "10.0.0.2"]) == nil)
    }

    @Test func clientsOfOneNetworkShareItsLimit() {
        #expect(client("2001:db8::1") == client("2001:db8:0:0:ffff::2"))
        #expect(client("2001:db8::1") != client("2001:db8:0:1::1"))
        #expect(client("192.0.2.1") != client("192.0.2.2"))
        #expect(client("::ffff:192.0.2.1") == client("192.0.2.1"))
    }

    @Test func loopbackIsDetected() {
        #expect(client("127.0.0.1")?.isLoopback == true && client("::1")?.isLoopback == true)
        #expect(client("::ffff:127.0.0.1")?.isLoopback == true && client("192.0.2.1")?.isLoopback == false)
        #expect(client("") == nil && client("/run/socket") == nil)
    }
}

@Suite struct ClientRatesTests {
    private func client(_ text: String) throws -> ClientAddress { try #require(ClientAddress(text)) }

    /// Returns how many of `count` clients pass with one request each.
    private func passing(_ count: Int, _ rates: inout ClientRates, _ address: (Int) -> String) throws -> Int {
        try (0..<count).count { rates.take(try client(address($0)), now: 0) }
    }

    @Test func networksOfOneOwnerShareALimit() throws {
        var rates = ClientRates(burst: 10, perSecond: 1, capacity: 1_000)
        // 48 bits: four times the limit of one client.
        let asMany = try (0..<10).map { _ in try passing(20, &rates) { "2001:db8:1:\(String($0, radix: 16))::1" } }
        #expect(asMany.reduce(0, +) == 40)
        // 32 bits: sixteen times, including the requests of the 48 bits.
        #expect(try passing(1_000, &rates) { "2001:db8:\(String($0 + 2, radix: 16))::1" } == 120)
        #expect(try passing(1_000, &rates) { "2001:db9:\(String($0 + 2, radix: 16))::1" } == 160)
        #expect(try passing(1_000, &rates) { "198.51.\($0 / 250).\($0 % 250)" } == 1_000)
    }

    @Test func refusalForANetworkCostsItsClientNothing() throws {
        var rates = ClientRates(burst: 1, perSecond: 1, capacity: 1_000)
        #expect(try passing(16, &rates) { "2001:db8:\($0):1::1" } == 16)
        for _ in 0..<5 { #expect(!rates.take(try client("2001:db8:ffff::1"), now: 0)) }
        // The network may send one more soon; the client's own limit was not used.
        #expect(rates.take(try client("2001:db8:ffff::1"), now: 100))
    }

    @Test func countsAreTakenCompletelyOrNotAtAll() throws {
        var rates = ClientRates(burst: 100, perSecond: 1, capacity: 1_000)
        #expect(rates.take(try client("2001:db8::1"), 100, now: 0))
        #expect(rates.take(try client("2001:db8:0:1::1"), 100, now: 0))
        #expect(rates.take(try client("2001:db8:0:2::1"), 100, now: 0))
        #expect(rates.take(try client("2001:db8:0:3::1"), 50, now: 0))
        #expect(!rates.take(try client("2001:db8:0:4::1"), 60, now: 0))
        #expect(rates.take(try client("2001:db8:0:4::1"), 50, now: 0))
    }

    @Test func networksAreIdentifiedByPrefix() throws {
        let client = try client("2001:db8:1:2:3::4")
        #expect(client == (try self.client("2001:db8:1:2::")))
        #expect(client.network(.bits48) == (try self.client("2001:db8:1:ffff::")).network(.bits48))
        #expect(client.network(.bits48) != (try self.client("2001:db8:2:2::")).network(.bits48))
        #expect(client.network(.bits32) == (try self.client("2001:db8:ffff::")).network(.bits32))
        #expect(try #require(client.network(.bits48)).network(.bits32) == client.network(.bits32))
        #expect(client.lies(in: try #require(client.network(.bits32))) && client.lies(in: client))
        #expect(!(try self.client("2001:db9::1")).lies(in: try #require(client.network(.bits32))))
        #expect(try self.client("192.0.2.1").network(.bits32) == nil)
        #expect(try self.client("::ffff:192.0.2.1") == self.client("192.0.2.1"))
    }
}

struct UnreadAnswersGuardTests {
    private let channel = EmbeddedChannel(handler: UnreadAnswersGuard(timeout: .seconds(30)))

    init() throws {
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 80)).wait()
    }

    private func become(writable: Bool) {
        channel.isWritable = writable
        channel.pipeline.fireChannelWritabilityChanged()
    }

    @Test func clientThatDoesNotReadIsDisconnected() {
        become(writable: false)
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func clientThatReadsSlowlyStaysConnected() {
        for _ in 0..<10 {
            become(writable: false)
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            become(writable: true)
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        }
        #expect(channel.isActive)
    }
}
