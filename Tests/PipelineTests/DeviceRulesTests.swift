import Cipher
import Delivery
import Nostr
import Notifications
import Pipeline
import PlatformTestSupport
import Rules
import Testing

/// Rules that tell devices apart by platform and app, and people by key.
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
