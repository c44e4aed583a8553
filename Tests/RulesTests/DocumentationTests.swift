import Foundation
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// Users copy the examples of `contrib/docs/rules.md`, so the reader must accept them.
@Suite struct DocumentationTests {
    private static let contrib = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../contrib")

    /// The blocks that are YAML, in the order of the text.
    private static func blocks() throws -> [String] {
        let text = try String(contentsOf: contrib.appending(path: "docs/rules.md"), encoding: .utf8)
        var blocks: [[Substring]] = []
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("    ") {
                if isInside { blocks[blocks.count - 1].append(line) } else { blocks.append([line]) }
                isInside = true
            } else if !line.isEmpty {
                isInside = false
            }
        }
        return blocks.map { $0.map { $0.dropFirst(4) }.joined(separator: "\n") }
            .filter { block in !["carillon ", "#", "{"].contains { block.hasPrefix($0) } }
    }

    /// A block is a file, a list of rules, keys of a rule or keys of the file. A block that shows a key in several ways
    /// counts as several.
    private static func files(of block: String) -> [String] {
        if block.hasPrefix("version:") { return [block] }
        if block.hasPrefix("- ") { return ["version: 1\nrules:\n" + block] }
        if block.hasPrefix("nudge:") || block.hasPrefix("summary:") { return ["version: 1\nrules: []\n" + block] }
        var rules: [[String]] = [[]]
        var keys: Set<Substring> = []
        for line in block.split(separator: "\n") {
            if line.first?.isLetter == true, let key = line.split(separator: ":").first, !keys.insert(key).inserted {
                keys = [key]
                rules.append([])
            }
            rules[rules.count - 1].append(String(line))
        }
        return rules.map { lines in
            let hasMatch = lines.contains { $0.hasPrefix("match:") }
            let rule = (hasMatch ? [] : ["match: { kinds: 1 }"]) + ["name: shown"] + lines
            return "version: 1\nrules:\n  -\n" + rule.map { "    " + $0 }.joined(separator: "\n")
        }
    }

    @Test func everyDocumentedBlockIsValid() throws {
        let blocks = try Self.blocks()
        #expect(blocks.count >= 8)
        for file in blocks.flatMap(Self.files) {
            do {
                _ = try RuleBook(yaml: file, name: "rules.md")
            } catch {
                Issue.record("\(error)\n\(file)")
            }
        }
    }

    /// A variable, function, condition or key without documentation is as good as missing.
    @Test func everyKeyIsDocumented() throws {
        let text = try String(contentsOf: Self.contrib.appending(path: "docs/rules.md"), encoding: .utf8)
        for variable in TemplateVariable.ofEvents {
            let parts = variable.name.split(separator: ".")
            #expect(
                text.contains("`\(variable.name)`") || parts.count == 2 && text.contains("`.\(parts[1])`"),
                "\(variable.name)"
            )
        }
        for key in MatchReader.keys { #expect(text.contains("  \(key):"), "\(key)") }
        for key in RuleTexts.keys + RulePayload.keys(.builtIn) { #expect(text.contains(key), "\(key)") }
        for function in [
            "excerpt", "truncate", "npub", "note", "nevent", "nprofile", "naddr", "ago", "since", "upper", "lower",
            "sats", "round", "number", "each", "count",
        ] {
            #expect(text.contains("`\(function)"), "\(function)")
        }
        for language in RelativeTimeWords.byLanguage.keys { #expect(text.contains(language), "\(language)") }
    }

    @Test(arguments: ["social", "privacy-first", "wallet-and-signer"])
    func everyExampleIsRead(_ name: String) throws {
        let text = try String(contentsOf: Self.contrib.appending(path: "examples/rules/\(name).yaml"), encoding: .utf8)
        #expect(try !RuleBook(yaml: text, name: name).rules.isEmpty)
    }
}
