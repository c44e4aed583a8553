import Foundation
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations
@testable import Rules

/// The example rules on every fixture, as `carillon rules try` shows them.
struct ExampleRulesTests {
    /// The rule that decides about each fixture, by file; the other fixtures send no notification.
    private static let deciding: [String: [String: String]] = [
        "social": [
            "like": "like", "reaction": "reaction", "custom-emoji": "reaction", "repost": "repost",
            "generic-repost": "repost", "audio-repost": "repost", "reply": "reply", "mention": "mention",
            "quote": "mention", "comment": "reply", "dm": "direct-message", "chat": "direct-message",
            "gift-wrap": "direct-message", "ephemeral-gift-wrap": "direct-message", "zap": "zap", "large-zap": "zap",
            "follow": "follow", "batch": "mention",
        ],
        "privacy-first": [
            "like": "reaction", "reaction": "reaction", "custom-emoji": "reaction", "repost": "repost",
            "generic-repost": "repost", "reply": "reply-or-mention", "mention": "reply-or-mention",
            "quote": "reply-or-mention", "comment": "reply-or-mention",
            "hellthread": "reply-or-mention", "dm": "direct-message", "chat": "direct-message",
            "gift-wrap": "direct-message", "ephemeral-gift-wrap": "direct-message", "zap": "zap", "small-zap": "zap",
            "large-zap": "zap", "batch": "reply-or-mention",
        ],
        "wallet-and-signer": [
            "zap": "zap", "small-zap": "zap", "large-zap": "large-zap", "wallet-request": "wallet-request",
            "signer-request": "signer-request",
        ],
    ]

    private let plugins: BuiltPlugins

    init() throws {
        plugins = try BuiltPlugins()
    }

    private func file(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../contrib/examples/rules/\(name).yaml").standardizedFileURL.path
    }

    private func order(_ rules: String) -> TrialOrder {
        var order = TrialOrder()
        order.rulesFiles = [file(rules)]
        order.pluginFolders = [plugins.path]
        return order
    }

    @Test(arguments: ["social", "privacy-first", "wallet-and-signer"])
    func exampleRulesDecideAsDocumentedOnEveryPlatform(name: String) async throws {
        let expected = try #require(Self.deciding[name])
        for mode in ["alert", "sealed", "nudge", "wake"] {
            var order = order(name)
            order.mode = mode
            let trial = try RulesTrial(order, now: 1_780_000_060_000)
            for fixture in try Fixture.all() {
                let report = try await trial.run(TrialSubject(fixture))
                #expect(report.ruleName == expected[fixture.name], "\(fixture.name)")
                #expect((report.silence == nil) == (expected[fixture.name] != nil), "\(fixture.name)")
                guard report.silence == nil else { continue }
                #expect(report.deliveries.map(\.platform) == BuiltPlugins.platforms)
                #expect(!report.hasFailures, "\(fixture.name) in \(mode): \(report.text)")
            }
            await trial.close()
        }
    }

    @Test func everyExampleIsTested() throws {
        let folder = URL(filePath: file("social")).deletingLastPathComponent()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .map { $0.replacing(".yaml", with: "") }
        #expect(Set(names) == Set(Self.deciding.keys))
    }

    /// A rule that no fixture reaches would be untested.
    @Test func everyRuleOfTheExamplesDecidesSomething() throws {
        for (name, deciding) in Self.deciding {
            let rules = Set(try RuleFiles.example(name).rules.filter { !$0.drops }.map(\.name))
            // It asks for the accounts that the recipient follows; see below.
            #expect(rules.subtracting(deciding.values).subtracting(["zap-from-a-friend"]).isEmpty, "\(name)")
        }
    }

    @Test func friendsZapMatchesItsOwnRule() async throws {
        var order = order("social")
        order.isAuthorFollowed = true
        order.platforms = ["ntfy"]
        let trial = try RulesTrial(order, now: 1_780_000_060_000)
        let zap = try #require(try Fixture.all().first { $0.name == "small-zap" })
        #expect(try await trial.run(TrialSubject(zap)).ruleName == "zap-from-a-friend")
        await trial.close()
    }

    @Test(arguments: ["hellthread": "the rule 'hellthread' drops it", "dislike": "the rule 'dislike' drops it"])
    func droppedEventNamesItsRule(name: String, reason: String) async throws {
        let trial = try RulesTrial(order("social"), now: 1_780_000_060_000)
        let fixture = try #require(try Fixture.all().first { $0.name == name })
        #expect(try await trial.run(TrialSubject(fixture)).silence?.hasPrefix(reason) == true)
        await trial.close()
    }
}
