import PluginHost
import RouterConfiguration
import Rules
import YAMLReading

/// What is wrong with rules.
struct RulesVerdict: OperatorAnswer {
    struct Mistake: Codable, Sendable {
        /// From 1; 0 where it is about all of them.
        var line: Int
        var column: Int
        var message: String
    }

    var isValid: Bool
    var rules: Int
    var mistakes: [Mistake]
    /// Warnings: valid rules that are probably mistakes.
    var warnings: [Mistake]

    init(_ text: String, _ platforms: KnownPlatforms) {
        do {
            let book = try RuleBook(
                files: [RulesFile(name: "rules", text: text)],
                platforms: platforms.catalog,
                blockChecks: platforms.blockChecks
            )
            (isValid, rules, mistakes) = (true, book.rules.count, [])
            warnings = book.warnings.map(Mistake.init)
        } catch {
            (isValid, rules, warnings) = (false, 0, [])
            mistakes = error.all.map(Mistake.init)
        }
    }

    var text: String { (mistakes + warnings).map { "\($0.line):\($0.column): \($0.message)" }.joined(separator: "\n") }
}

extension RulesVerdict.Mistake {
    fileprivate init(_ diagnostic: Diagnostic) {
        self.init(line: diagnostic.line, column: diagnostic.column, message: diagnostic.message)
    }
}
