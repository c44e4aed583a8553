import CommandTestSupport
import Core
import HTTPClient
import NIOCore
import Testing

@testable import Relays

@Suite(.timeLimit(.minutes(1)))
struct RelayConnectorTests {
    private static let refusal = "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno"
    private static let wrongKey =
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        + "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

    private func failure(
        _ url: String,
        caFile: String? = nil,
        limits: ConnectionLimits = ConnectionLimits(),
        guarded: AddressGuard? = nil
    ) async -> ConnectionError? {
        do {
            _ = try await WireClient(url, caFile: caFile, limits: limits, guarded: guarded)
            return nil
        } catch {
            return error as? ConnectionError
        }
    }

    @Test func aCertificateOfAKnownRootIsAccepted() async throws {
        let certificate = try TestCertificate.shared.get()
        var relay = try await ScriptedRelay(tls: certificate.server, greeting: ["hello"])
        for host in ["localhost", "127.0.0.1"] {
            let client = try await WireClient("wss://\(host):\(relay.port)", caFile: certificate.certificateFile)
            #expect(await relay.next() == .connected)
            #expect(await client.texts(1) == ["hello"])
            client.close()
            #expect(await relay.next() == .closed(1000))
            #expect(await relay.next() == .ended)
        }
        try await relay.close()
    }

    @Test func aCertificateOfAnUnknownRootIsRefused() async throws {
        let relay = try await ScriptedRelay(tls: TestCertificate.shared.get().server)
        #expect(await failure("wss://localhost:\(relay.port)") == .tls)
        try await relay.close()
    }

    @Test func aCertificateForAnotherNameIsRefused() async throws {
        let certificate = try TestCertificate.shared.get()
        let relay = try await ScriptedRelay(host: "127.0.0.2", tls: certificate.server)
        let url = "wss://127.0.0.2:\(relay.port)"
        #expect(await failure(url, caFile: certificate.certificateFile) == .tls)
        try await relay.close()
    }

    @Test func plainTextWhereTLSWasAskedForIsRefused() async throws {
        let relay = try await ScriptedRelay()
        #expect(await failure("wss://127.0.0.1:\(relay.port)") == .tls)
        try await relay.close()
    }

    @Test(arguments: [refusal, wrongKey, "SSH-2.0-OpenSSH_9.2\r\n"])
    func nonWebSocketResponseIsRefused(_ answer: String) async throws {
        let server = try await BareServer(says: answer)
        #expect(await failure("ws://127.0.0.1:\(server.port)") == .notWebSocket)
        try await server.close()
    }

    @Test func serverThatClosesImmediatelyIsDetected() async throws {
        let server = try await BareServer(hangsUp: true)
        // The end may come before the connection is set up, before our greeting or after it.
        let failures = [
            await failure("ws://127.0.0.1:\(server.port)"), await failure("wss://127.0.0.1:\(server.port)"),
        ]
        #expect(failures[0] == .closed || failures[0] == .unreachable)
        #expect(failures[1] == .closed || failures[1] == .unreachable || failures[1] == .tls)
        try await server.close()
    }

    @Test(arguments: ["ws", "wss"])
    func silentServerTimesOut(_ scheme: String) async throws {
        let server = try await BareServer()
        var limits = ConnectionLimits()
        limits.handshake = .milliseconds(50)
        #expect(await failure("\(scheme)://127.0.0.1:\(server.port)", limits: limits) == .timeout)
        try await server.close()
    }

    @Test func closedPortIsUnreachable() async throws {
        #expect(await failure("ws://127.0.0.1:1") == .unreachable)
    }

    @Test func unknownNameIsUnresolved() async throws {
        // The time that a resolver may take if its server does not answer.
        var limits = ConnectionLimits()
        limits.handshake = .seconds(50)
        #expect(await failure("ws://nobody.invalid", limits: limits) == .unresolved)
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func usersURLsMustNotBePrivate(_ host: String) async throws {
        let relay = try await ScriptedRelay()
        let url = "ws://\(host):\(relay.port)"
        #expect(await failure(url, guarded: AddressGuard()) == .forbiddenAddress)
        #expect(await failure(url, guarded: try AddressGuard(allowing: ["127.0.0.0/8"])) == nil)
        try await relay.close()
    }
}

@Test(arguments: [
    "wss://relay.example.com", "WSS://Relay.Example.COM:443/", "wss://relay.example.com#part",
    "wss://relay.example.com//",
])
func spellingsOfOneRelayAreEqual(_ spelling: String) {
    #expect(RelayURL(spelling)?.text == "wss://relay.example.com")
}

@Test(arguments: [
    ("ws://relay.example.com:80/Path/", "ws://relay.example.com/Path"),
    ("ws://relay.example.com:443", "ws://relay.example.com:443"),
    ("wss://[2001:DB8::1]:7447/", "wss://[2001:db8::1]:7447"),
    ("wss://[2001:0db8:0:0::0:1]/", "wss://[2001:db8::1]"),
    ("wss://relay.example.com/?key=a/", "wss://relay.example.com?key=a/"),
    ("wss://relay.example.com/inbox/?key=a", "wss://relay.example.com/inbox?key=a"),
])
func portsPathsAndQueriesDistinguishRelays(_ spelling: String, _ text: String) throws {
    let url = try #require(RelayURL(spelling))
    #expect(url.text == text)
    #expect(RelayURL(url.text) == url)
}

@Test(arguments: [
    "", "wss://", "relay.example.com", "https://relay.example.com", "wss:/relay.example.com",
    "ws:\u{0f}/relay.example.com",
    "wss://user@relay.example.com", "wss://user:pass@relay.example.com", "wss://relay.example.com:0",
    "wss://relay.example.com:70000", "wss://relay example.com", " wss://relay.example.com",
    "wss://relay.example.com/\n",
    "wss://2130706433/", "wss://0x7f.1/", "wss://réseau.example/", "wss://relay.example.com/%zz",
    "wss://-relay.example.com",
])
func invalidRelayURLIsRefused(_ text: String) {
    #expect(RelayURL(text) == nil)
}

@Test func lengthIsLimited() {
    let start = "wss://relay.example.com/"
    #expect(RelayURL(start + String(repeating: "a", count: 256 - start.utf8.count)) != nil)
    #expect(RelayURL(start + String(repeating: "a", count: 257 - start.utf8.count)) == nil)
}
