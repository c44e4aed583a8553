import Foundation
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import CarillonRouter
@testable import Operations
@testable import RouterConfiguration

/// The output of `carillon rules check`.
@Suite final class RulesCheckTests {
    private let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-rules-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        return "\(folder)/\(name)"
    }

    private func summary(_ check: RulesCheck) throws -> [String] {
        try check.summary().map { $0.replacing(folder, with: "~") }
    }

    @Test func everyFileIsListed() throws {
        let own = try write(
            "own.yaml",
            """
            version: 1
            rules:
              - { match: { kinds: [7], content: "-" }, drop: true }
              - { match: { kinds: [7, 6] }, signal: reaction }
            """
        )
        let common = try write("common.yaml", "version: 1\nrules: [{ title: Anything }]\n")
        let none = try write("none.yaml", "version: 1\nrules: []\n")
        #expect(
            try summary(RulesCheck(files: [own, none, common], KnownPlatforms(.builtIn))) == [
                "~/own.yaml: 2 rules, 1 of them dropping; kinds 6, 7; signals reaction",
                "~/none.yaml: no rules",
                "~/common.yaml: 1 rule; kinds any; signals what the event is taken for",
            ]
        )
    }

    @Test func suspiciousRuleIsWarnedAbout() throws {
        let file = try write(
            "rules.yaml",
            """
            version: 1
            rules:
              - title: a
                actions: [{ id: a, label: "This label is longer than any screen" }]
            """
        )
        var warnings: [String] = []
        let check = RulesCheck(files: [file], KnownPlatforms(.builtIn))
        _ = try check.summary { warnings.append($0.description.replacing(folder, with: "~")) }
        #expect(warnings.count == 1 && warnings[0].hasPrefix("~/rules.yaml:4:31: rules[0].actions[0].label: iOS cuts"))
    }

    @Test func builtInRulesAreListedIfThereAreNoFiles() throws {
        let line = try summary(RulesCheck(files: [], KnownPlatforms(.builtIn)))
        #expect(line.count == 1 && line[0].hasPrefix("built-in rules: 8 rules; kinds 1, 3, 4, 6, 7,"))
    }

    @Test func givenFilesComeBeforeConfiguredOnes() throws {
        let (own, common) = (try write("own.yaml", ""), try write("common.yaml", ""))
        var configuration = Configuration(keyFile: "", storePath: "")
        configuration.rulesFiles = [common, own]
        #expect(
            RulesCheck(files: [own], configuration: configuration, KnownPlatforms(.builtIn)).files == [own, common]
        )
    }

    @Test func appFilesAreListedByApp() throws {
        let own = try write("shop.yaml", "version: 1\nrules: [{ match: { kinds: 30402 }, signal: offer }]\n")
        var configuration = Configuration(keyFile: "", storePath: "")
        configuration.apps["shop"] = Configuration.App(rulesFiles: [own])
        configuration.apps["default"] = Configuration.App()
        let lines = try summary(RulesCheck(files: [], configuration: configuration, KnownPlatforms(.builtIn)))
        #expect(lines.count == 2 && lines[0].hasPrefix("built-in rules: 8 rules;"))
        #expect(lines[1] == "app shop: ~/shop.yaml: 1 rule; kinds 30402; signals offer")
        #expect(RulesCheck(files: [], configuration: configuration, KnownPlatforms(.builtIn)).allFiles == [own])
    }

    @Test func keysAreStoredNextToTheRules() throws {
        let npub = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"
        let rules = "version: 1\nrules: [{ match: { kinds: 1, author: { file: FILE } } }]\n"
        _ = try write("friends.txt", "# friends\n\(npub)\n")
        for name in ["friends.txt", "\(folder)/friends.txt"] {
            let own = try write("own.yaml", rules.replacing("FILE", with: name))
            #expect(
                try summary(RulesCheck(files: [own], KnownPlatforms(.builtIn))) == [
                    "~/own.yaml: 1 rule; kinds 1; signals what the event is taken for"
                ]
            )
        }
        // Watching the rules includes these files, even while they are invalid.
        for name in ["friends.txt", "gone.txt"] {
            let own = try write("own.yaml", rules.replacing("FILE", with: name))
            #expect(RulesCheck(files: [own], KnownPlatforms(.builtIn)).allFiles == [own, "\(folder)/\(name)"])
        }
        func mistake(_ name: String) throws -> String? {
            let own = try write("own.yaml", rules.replacing("FILE", with: name))
            let mistakes = #expect(throws: Diagnostics.self) {
                _ = try RulesCheck(files: [own], KnownPlatforms(.builtIn)).summary()
            }
            return mistakes?.all.first?.message
        }
        let path = "rules[0].match.author.file: "
        #expect(
            try mistake("gone.txt") == path
                + "gone.txt: cannot be read: check that the file exists and that this user may read it"
        )
        #expect(try mistake(".") == path + ".: cannot be read: expected a file")
        _ = try write("wrong.txt", "\n\nalice\n")
        #expect(
            try mistake("wrong.txt") == path + "line 3 of wrong.txt: expected a public key: npub1… or 64 hex digits"
        )
    }

    @Test func errorsOfAllFilesAreReported() throws {
        let own = try write("own.yaml", "version: 1\nrules: [{ match: { kind: 7 } }]\n")
        let mistakes = #expect(throws: Diagnostics.self) {
            _ = try RulesCheck(files: [own, "\(folder)/missing.yaml"], KnownPlatforms(.builtIn)).summary()
        }
        #expect(
            mistakes?.all.map { "\($0)".replacing(folder, with: "~") } == [
                "~/missing.yaml: cannot read the rules: check that the file exists and that this user may read it",
                "~/own.yaml:2:20: rules[0].match: unknown key 'kind'; did you mean 'kinds'?",
            ]
        )
    }
}
