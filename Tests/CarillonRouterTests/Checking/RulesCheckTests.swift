import Foundation
import Testing
import YAMLReading

@testable import CarillonRouter

/// What `carillon rules check` says.
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

    @Test func eachFileHasItsLine() throws {
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
            try summary(RulesCheck(files: [own, none, common])) == [
                "~/own.yaml: 2 rules, 1 of them dropping; kinds 6, 7; signals reaction",
                "~/none.yaml: no rules",
                "~/common.yaml: 1 rule; kinds any; signals what the event is taken for",
            ]
        )
    }

    @Test func withoutFilesTheBuiltInRulesAreTold() throws {
        let line = try summary(RulesCheck(files: []))
        #expect(line.count == 1 && line[0].hasPrefix("built-in rules: 8 rules; kinds 1, 3, 4, 6, 7,"))
    }

    @Test func filesOfTheConfigurationComeAfterThoseThatAreGiven() throws {
        let (own, common) = (try write("own.yaml", ""), try write("common.yaml", ""))
        var configuration = Configuration(keyFile: "", storePath: "")
        configuration.rulesFiles = [common, own]
        #expect(RulesCheck(files: [own], configuration: configuration).files == [own, common])
    }

    @Test func mistakesOfAllFilesAreTold() throws {
        let own = try write("own.yaml", "version: 1\nrules: [{ match: { kind: 7 } }]\n")
        let mistakes = #expect(throws: Mistakes.self) {
            _ = try RulesCheck(files: [own, "\(folder)/missing.yaml"]).summary()
        }
        #expect(
            mistakes?.all.map { "\($0)".replacing(folder, with: "~") } == [
                "~/missing.yaml: cannot read the rules: does the file exist, and may we read it?",
                "~/own.yaml:2:20: rules[0].match: unknown key 'kind'; did you mean 'kinds'?",
            ]
        )
    }
}
