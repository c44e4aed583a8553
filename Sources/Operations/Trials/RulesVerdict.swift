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

    init(_ text: String, _ platforms: KnownPlatforms) {
        do {
            let book = try RuleBook(
                files: [RulesFile(name: "rules", text: text)],
                platforms: platforms.catalog,
                blockChecks: platforms.blockChecks
            )
            (isValid, rules, mistakes) = (true, book.rules.count, [])
        } catch {
            (isValid, rules) = (false, 0)
            mistakes = error.all.map { Mistake(line: $0.line, column: $0.column, message: $0.message) }
        }
    }

    var text: String { mistakes.map { "\($0.line):\($0.column): \($0.message)" }.joined(separator: "\n") }
}
