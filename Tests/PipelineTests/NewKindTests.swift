import Cipher
import Delivery
import Nostr
import Notifications
import PlatformTestSupport
import Rules
import Testing

@testable import Pipeline

/// Kinds and signals that no line of Swift knows, made notifiable by a rules file alone.
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
    func anyKindWakesUnderAnySignal(_ kind: UInt16) throws {
        let owner = try bench.account(["offer"])
        bench.submit([try offer(kind, "a bell", to: owner, [["t", "shop"]])])
        let notification = try #require(bench.kept.first?.notification)
        #expect(notification.signal == Signal(rawValue: "offer"))
        #expect(notification.title.hasSuffix(" sells a bell"))
    }

    @Test func devicesSwitchANewSignalOffLikeAnyOther() throws {
        let owner = try bench.account(["dm"])
        bench.submit([try offer(30402, "a bell", to: owner, [["t", "shop"]])])
        #expect(bench.kept.isEmpty && bench.count(.unwanted) == 1)
    }

    @Test func conditionsOnTagsAndContentHoldForThemToo() throws {
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
