import Core
import HTTPClient
import Logging
import Nostr
import Registry
import Relays
import Storage
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations
@testable import RouterConfiguration

/// The configuration blocks for access to the router and to its log.
@Suite struct AccessConfigurationTests {
    private static let npub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"

    private func read(_ blocks: String) throws(Diagnostics) -> Configuration {
        try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil })
            .read(blocks + "\nidentity: { key_file: carillon.key }\nstore: { path: carillon.sqlite }")
    }

    private func mistakes(_ blocks: String) -> [String] {
        do {
            _ = try read(blocks)
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test func accessDefaultsToOpenRegistration() throws {
        let configuration = try read("")
        #expect(configuration.access == Configuration.Access() && configuration.access.mode == .open)
        #expect(configuration.log.format == .auto && configuration.log.level == nil)
    }

    @Test func everyKeyIsRead() throws {
        let configuration = try read(
            """
            access:
              mode: allowlist
              allow: [\(Self.npub), 198.51.100.7]
              block: 2001:DB8:7::/48
              block_relays: ["*.Example.com", wss://Relay.example.org/]
            log: { format: json, level: debug }
            """
        )
        let key = try #require(NIP19.publicKey(npub: Self.npub))
        let subjects = configuration.access.rules.map(\.subject)
        #expect(
            subjects == [
                .key(key), .network("198.51.100.7/32"), .network("2001:db8:7::/48"), .relay("*.example.com"),
                .relay("wss://relay.example.org"),
            ]
        )
        #expect(configuration.access.rules.map(\.isBlock) == [false, false, true, true, true])
        #expect(configuration.access.mode == .allowlist && configuration.access.rules.allSatisfy(\.isConfigured))
        #expect(configuration.log == Configuration.Log(format: .json, level: .debug))
    }

    @Test func invitationsNeedSecrets() throws {
        #expect(mistakes("access: { mode: invite-only }").first?.contains("registration.secret_file") == true)
        let configuration = try read("access: { mode: invite-only }\nregistration: { secret_file: secrets }")
        #expect(RemoteSigningConfiguration(configuration).requireSession)
    }

    @Test(arguments: [
        ("access: { mode: closed }", "open, invite-only, allowlist"), ("access: { allow: nobody }", "expected a key"),
        ("access: { block: 10.0.0.1/8 }", "expected a key"), ("access: { block_relays: https://x }", "a relay's URL"),
        ("log: { format: xml }", "journald"), ("access: { deny: x }", "deny"),
    ])
    func errorsAreNamed(_ block: String, _ words: String) {
        #expect(mistakes(block).contains { $0.contains(words) }, "\(mistakes(block))")
    }

    @Test func theSmallestNetworkDecides() {
        let access = NetworkAccess()
        func rule(_ network: String, _ isBlock: Bool) -> AccessRule {
            AccessRule(.network(network), isBlock: isBlock, madeAt: .epoch)
        }
        let rules = [
            rule("10.0.0.0/8", true), rule("10.1.0.0/16", false), rule("10.1.2.3/32", true),
            rule("2001:db8::/32", true),
            rule("2001:db8:1::/48", false), rule("192.0.2.0/24", false), rule("192.0.2.0/24", true),
        ]
        #expect(access.follow(AccessList(rules: rules, now: .epoch)))
        #expect(!access.follow(AccessList(rules: rules, now: .epoch)))
        let cases = [
            ("10.9.9.9", true), ("10.1.9.9", false), ("10.1.2.3", true), ("11.0.0.1", false), ("2001:db8:2::1", true),
            ("2001:db8:1:ffff::1", false), ("192.0.2.1", true), ("no address", false),
        ]
        for (address, isBlocked) in cases { #expect(access.isBlocked(address) == isBlocked, "\(address)") }
    }

    @Test func logLevelsAreSetByName() throws {
        let clock = ManualClock()
        let logs = LogOperations(levels: LogLevels(now: clock.monotonic), now: clock.monotonic)
        let report = try logs.set("relays", "debug", for: .minutes(10))
        #expect(report.set.map(\.component) == ["Relays"] && report.text.contains("for 10 min more"))
        #expect(throws: OperationError.self) { try logs.set("nothing", "debug", for: nil) }
        #expect(throws: OperationError.self) { try logs.set("all", "loud", for: nil) }
        #expect(throws: OperationError.self) { try logs.set(["component": "all"]) }
        #expect(try logs.set("Relays", "default", for: nil).set.isEmpty)
    }

    @Test func requestsAndCommandsAreEquivalent() throws {
        let request = try AccessRequest(
            "block",
            isRelay: false,
            ["subject": "10.0.0.0/8", "seconds": "60", "reason": "r"]
        )
        #expect(request == AccessRequest(.block, "10.0.0.0/8", reason: "r", span: .minutes(1)))
        #expect(
            try AccessRequest("block", isRelay: true, ["subject": "*.a.example"]).meaning() == .relay("*.a.example")
        )
        let digest = String(repeating: "ab", count: 32)
        let invitation = ["subject": digest, "kind": "invitation"]
        #expect(try AccessRequest("block", isRelay: false, invitation).meaning() == .invitation(digest))
        for parameters in [[:], ["subject": "x", "seconds": "0"]] {
            #expect(throws: OperationError.self) { try AccessRequest("block", isRelay: false, parameters) }
        }
        #expect(throws: OperationError.self) { try AccessRequest(.block, "nobody").meaning() }
    }

    @Test func relaysAreShownWithMessagesAndViolations() {
        var relay = RelayList.Relay(url: "wss://a.example", state: "connected", whose: "users")
        relay.users = 3
        relay.violations = ["flood": 2]
        relay.misbehaves = ["flood"]
        relay.lastMessages = [RelayList.Words(command: "NOTICE", text: "no", at: "2026-03-14T00:00:00.125Z")]
        relay.readUpTo = "2026-03-14T00:00:01.000Z"
        let blocked = AccessRule(.relay("*.b.example"), isBlock: true, reason: "floods", madeAt: .epoch)
        let list = RelayList([relay], blocked: [blocked])
        #expect(
            list.text.contains("misbehaves: flood") && list.text.contains("*.b.example")
                && list.text.contains("\"floods\"")
        )
        for words in [
            "0 keys of 3 accounts", "up to 2026-03-14T00:00:01Z", "2026-03-14T00:00:00Z NOTICE: no",
            "2 floods of messages", "carillon relays block wss://a.example",
        ] {
            #expect(list.details.contains(words), "\(list.details)")
        }
    }
}
