import Delivery
import Foundation
import Nostr
import PlatformTestSupport
import Push
import Rules
import Testing

@testable import Pipeline

/// Context that no device may show is neither fetched nor kept.
@Suite struct ContextDemandTests {
    private let fetcher = FakeFetcher()
    private let bob: KeyPair

    init() throws {
        bob = try Workbench.keys()
    }

    private func bench(usesContext: Bool = true) throws -> Workbench {
        try Workbench(
            keepsContext: true,
            usesContext: usesContext,
            dependencies: PipelineDependencies(contextFetcher: fetcher)
        )
    }

    /// Submits events of all sorts that notifications may refer to: two that mention the account, and two that don't.
    private func submit(to account: KeyPair, at bench: Workbench) throws {
        let tags = [["p", account.publicKey.hex]]
        let parent = try bench.event(.textNote, "a parent's words", by: account)
        bench.submit([
            try bench.event(.profile, #"{"name":"Bob the Builder"}"#, by: bob),
            try bench.event(.textNote, "words to nobody", by: bob), parent,
            try bench.event(.textNote, "words to somebody", tags: tags, by: bob),
            try bench.event(.reaction, "+", tags: tags + [["e", parent.id.hex]], by: bob),
        ])
        bench.pipeline?.finish()
    }

    private func keeps(_ text: String, _ bench: Workbench) -> Bool {
        bench.contextOnDisk.range(of: Data(text.utf8)) != nil
    }

    private static let texts = ["Bob the Builder", "words to nobody", "a parent's words", "words to somebody"]

    @Test func alertsKeepAllContext() throws {
        let bench = try bench()
        try submit(to: try bench.account(), at: bench)
        for text in Self.texts { #expect(keeps(text, bench), "\(text)") }
    }

    @Test(arguments: ["wake", "nudge"])
    func contextFileIsNotCreatedIfNoDeviceShowsContent(_ mode: String) throws {
        let bench = try bench()
        try submit(to: try bench.account(mode: mode), at: bench)
        #expect(bench.kept.count == 2)
        #expect(bench.contextOnDisk.isEmpty && fetcher.count == 0)
    }

    @Test func contextIsNotKeptWithoutDevices() throws {
        let bench = try bench()
        try submit(to: bob, at: bench)
        #expect(bench.contextOnDisk.isEmpty)
    }

    @Test func contextNoRuleUsesIsNotKept() throws {
        let bench = try bench()
        let rules = """
            version: 1
            rules:
              - { name: note, match: { kinds: [1, 7] }, title: "{{author.name}}", signal: mention, event_data: false }
            """
        try bench.restart(rules: try RuleBook(yaml: rules, name: "rules.yaml"))
        try submit(to: try bench.account(), at: bench)
        #expect(keeps("Bob the Builder", bench))
        for text in Self.texts.dropFirst() { #expect(!keeps(text, bench), "\(text)") }
    }

    @Test func parentsAuthorIsFetchedButNotStored() throws {
        let bench = try bench()
        let account = try bench.account(mode: "wake")
        let parent = try bench.event(.textNote, "a parent's words", by: account)
        let tags = [["e", parent.id.hex, "", "reply"], ["p", account.publicKey.hex], ["p", bob.publicKey.hex]]
        bench.submit(
            [try bench.event(.textNote, "an answer", tags: tags, by: try Workbench.keys())],
            from: .relay(.live)
        )
        #expect(fetcher.last?.wants == ContextWants(events: [parent.id]))
        bench.submit([parent], from: .relay(.fetched))
        fetcher.last?.completion()
        bench.process()
        #expect(bench.kept.map(\.notification.signal) == [.reply])
        bench.pipeline?.finish()
        #expect(bench.contextOnDisk.isEmpty)
    }

    @Test func contextIsErasedWithTheLastDeviceThatShowsIt() throws {
        let bench = try bench()
        let account = try bench.account()
        bench.submit([try bench.event(.textNote, "words to nobody", by: bob)])
        _ = try bench.account(mode: "wake")
        let slot = [["d", bench.identity.publicKey.hex + ":phone"]]
        bench.submit([try bench.event(.pushRegistration, tags: slot, by: account)])
        #expect(bench.count(.registered) == 3)
        bench.pipeline?.finish()
        #expect(bench.contextOnDisk.isEmpty)
    }

    @Test func disabledContextIsNeitherFetchedNorKeptAndIsErased() throws {
        let bench = try bench()
        let account = try bench.account()
        try submit(to: account, at: bench)
        #expect(!bench.contextOnDisk.isEmpty)
        try bench.restart(usesContext: false)
        let other = try Workbench.keys()
        bench.submit(
            [try bench.event(.textNote, "more words", tags: [["p", account.publicKey.hex]], by: other)],
            from: .relay(.live)
        )
        #expect(bench.kept.last?.notification.title == "💬 \(other.publicKey.hex.prefix(8))... sent you a note")
        #expect(fetcher.count == 0)
        bench.pipeline?.finish()
        #expect(bench.contextOnDisk.isEmpty)
    }

    @Test func contextIsFetchedOnceADeviceMayShowIt() throws {
        let bench = try bench()
        let account = try bench.account(mode: "wake")
        let parent = try bench.event(.textNote, "a parent's words", by: account)
        bench.submit([parent])
        bench.submit([try bench.registration(of: account, Workbench.content(), device: "tablet")])
        let tags = [["p", account.publicKey.hex], ["e", parent.id.hex]]
        bench.submit([try bench.event(.reaction, "+", tags: tags, by: bob)], from: .relay(.live))
        #expect(fetcher.last?.wants == ContextWants(profiles: [bob.publicKey], events: [parent.id]))
    }
}
