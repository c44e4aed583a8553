import Delivery
import Nostr
import PlatformTestSupport
import Push
import Registry
import Rules
import Testing

@testable import Pipeline

/// Other rules and defaults while a pipeline runs.
@Suite struct SettingsTests {
    private static func settings(_ rules: String) throws -> PipelineSettings {
        let yaml = "version: 1\nrules:\n" + rules
        return PipelineSettings(rules: try RuleBook(yaml: yaml, name: "test"))
    }

    private static let notes = "  - { match: { kinds: [1] }, signal: mention, title: a note }\n"
    private static let offers = "  - { match: { kinds: [30402] }, signal: offer, title: an offer }\n"

    @Test func changedRulesApplyFromTheNextBatch() throws {
        let bench = try Workbench(rules: Self.settings(Self.notes).rules)
        let owner = try bench.account(["mention", "offer"])
        let tags = [["p", owner.publicKey.hex]]
        func both() throws -> [Event] {
            [
                try bench.event(.textNote, tags: tags, by: try Workbench.keys()),
                try bench.event(Kind(30402), tags: tags, by: try Workbench.keys()),
            ]
        }
        bench.submit(try both())
        #expect(bench.kept.map(\.notification.signal) == [.mention])
        // A signal that was unknown when the device registered.
        try bench.pipeline?.adopt(Self.settings(Self.offers))
        bench.submit(try both())
        #expect(bench.kept.map(\.notification.signal) == [.mention, Signal(rawValue: "offer")])
    }

    @Test func changedRulesDecideWaitingEvents() throws {
        let rules = "  - { match: { kinds: [1] }, signal: mention, title: \"{{author.name}} says\" }\n"
        let bench = try Workbench(
            rules: Self.settings(rules).rules,
            dependencies: PipelineDependencies(contextFetcher: FakeFetcher())
        )
        let owner = try bench.account(["mention"])
        let tags = [["p", owner.publicKey.hex]]
        bench.submit([try bench.event(.textNote, tags: tags, by: try Workbench.keys())])
        #expect(bench.kept.isEmpty && bench.count(.waiting) == 1)
        try bench.pipeline?.adopt(Self.settings(Self.offers))
        bench.pipeline?.finish()
        #expect(bench.kept.isEmpty && bench.count(.unmatched) == 1)
    }

    @Test func contactListsAreTakenOnceARuleAsksForFollows() throws {
        let bench = try Workbench(rules: Self.settings(Self.notes).rules)
        let owner = try bench.account(["mention"])
        let friend = try Workbench.keys()
        try bench.pipeline?.adopt(
            Self.settings("  - { match: { kinds: [1], followed: true }, signal: mention, title: a friend }\n")
        )
        bench.submit([try bench.event(.contactList, tags: [["p", friend.publicKey.hex]], by: owner)])
        let tags = [["p", owner.publicKey.hex]]
        bench.submit([
            try bench.event(.textNote, tags: tags, by: friend),
            try bench.event(.textNote, tags: tags, by: try Workbench.keys()),
        ])
        #expect(bench.kept.count == 1)
    }
}
