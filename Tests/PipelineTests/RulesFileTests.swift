import Cipher
import Delivery
import Nostr
import PlatformTestSupport
import Push
import Rules
import Testing

@testable import Pipeline

/// Kinds and signals unknown to the Swift code become notifiable through a rules file.
@Suite struct NewKindTests {
    private let bench: Workbench
    private let alice: KeyPair

    init() throws {
        let rules = """
            version: 1
            rules:
              - { name: spam, match: { kinds: 30402, content: { matches: "(?i)casino" } }, drop: true }
              - match: { kinds: [30402, 65535], tags: { t: shop } }
                signal: offer
                title: "{{author.name}} sells {{event.content}}"
            """
        bench = try Workbench(rules: RuleBook(yaml: rules, name: "rules.yaml"))
        alice = try Workbench.keys()
    }

    private func offer(_ kind: UInt16, _ content: String, to owner: KeyPair, _ tags: [[String]]) throws -> Event {
        try bench.event(Kind(kind), content, tags: [["p", owner.publicKey.hex]] + tags, by: alice)
    }

    @Test(arguments: [30402, 65535] as [UInt16])
    func anyKindCanRaiseAnySignal(_ kind: UInt16) throws {
        let owner = try bench.account(["offer"])
        bench.submit([try offer(kind, "a bell", to: owner, [["t", "shop"]])])
        let notification = try #require(bench.kept.first?.notification)
        #expect(notification.signal == Signal(rawValue: "offer"))
        #expect(notification.title.hasSuffix(" sells a bell"))
    }

    @Test func deviceCanDisableANewSignal() throws {
        let owner = try bench.account(["dm"])
        bench.submit([try offer(30402, "a bell", to: owner, [["t", "shop"]])])
        #expect(bench.kept.isEmpty && bench.count(.unwanted) == 1)
    }

    @Test func conditionsOnTagsAndContentApplyToCustomKindsToo() throws {
        let owner = try bench.account(["offer"])
        bench.submit([
            try offer(30402, "a bell", to: owner, [["t", "art"]]),
            try offer(30402, "CASINO", to: owner, [["t", "shop"]]),
            try offer(30403, "a bell", to: owner, [["t", "shop"]]),
        ])
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.unmatched) == 1 && bench.count(.dropped) == 1)
    }
}

/// Rules that distinguish devices by platform and app, and people by key.
@Suite struct DeviceRulesTests {
    private static let alice = Result { try Workbench.keys() }

    private func bench() throws -> Workbench {
        let alice = try Self.alice.get().publicKey
        let common = RulesFile(
            name: "common",
            text: """
                version: 1
                rules:
                  - { match: { kinds: 1, author: \(alice.hex), platform: ios }, title: "alice, on ios" }
                  - { match: { kinds: 1, platform: [gotify] }, drop: true }
                  - { match: { kinds: 1 }, title: "somebody" }
                """
        )
        let shop = RulesFile(
            name: "shop",
            text: """
                version: 1
                rules:
                  - { match: { kinds: 1, author: \(NIP19.npub(alice)) }, title: "alice, in the shop" }
                """
        )
        return try Workbench(rules: RuleBook(files: [common], ofApps: ["shop": [shop]]))
    }

    @Test func eachDeviceHasTheRulesOfItsPlatformAndApp() throws {
        let bench = try bench()
        let owner = try bench.account()
        let devices = [
            ("shop", #"{"token":"\#(Hex.encode(SecureRandom.bytes(32)))","platform":"ios","app":"shop""#),
            ("android", #"{"token":"aaaa:bbbb","platform":"android""#),
            ("gotify", #"{"push_endpoint":"https://g.example/message","platform":"gotify""#),
        ]
        for (device, content) in devices {
            let whole = content + #","mode":"alert","filters":{"mention":true}}"#
            bench.submit([try bench.registration(of: owner, whole, device: device)])
        }
        func told(by author: KeyPair) throws -> [String] {
            let before = bench.kept.count
            bench.submit([try bench.event(.textNote, "x", tags: [["p", owner.publicKey.hex]], by: author)])
            return bench.kept.dropFirst(before).map { "\($0.platform) \($0.app) \($0.notification.title)" }.sorted()
        }
        #expect(
            try told(by: Self.alice.get()) == [
                "android default somebody", "ios default alice, on ios", "ios shop alice, in the shop",
            ]
        )
        #expect(
            try told(by: Workbench.keys()) == [
                "android default somebody", "ios default somebody", "ios shop somebody",
            ]
        )
        #expect(bench.count(.dropped) == 2)
    }
}
