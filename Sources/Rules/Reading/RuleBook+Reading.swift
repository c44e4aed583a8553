import Notifications
import YAMLReading

extension RuleBook {
    private static let keys = ["version", "rules", "summary", "nudge", "categories"]

    /// Reads one rules file's text; see ``init(files:)``.
    package init(yaml text: String, name: String) throws(Mistakes) {
        try self.init(files: [RulesFile(name: name, text: text)])
    }

    /// Reads the rules of `files`, those of the first before those of the next. Of what there is one of, such as the summary,
    /// the first file that has it decides.
    ///
    /// Throws all mistakes of all files at once, each with its file, its line and what was expected.
    package init(files: [RulesFile]) throws(Mistakes) {
        let read = files.map { (file: YAMLFile(name: $0.name), text: $0.text) }
        self.init(read.compactMap { $0.file.parse($0.text)?.mapping(keys: Self.keys) })
        var mistakes: [Mistake] = []
        for (file, _) in read {
            do {
                try file.throwMistakes()
            } catch {
                mistakes += error.all
            }
        }
        guard mistakes.isEmpty else { throw Mistakes(mistakes) }
    }

    /// `files` are the top levels of the files.
    private init(_ files: [YAMLMapping]) {
        files.forEach(Self.checkVersion)
        /// Of the first file that has it. All are looked at, so that each is checked.
        func first<Value>(_ key: String, _ read: (YAMLValue) -> Value?) -> Value? {
            files.compactMap { $0[key].flatMap(read) }.first
        }
        // What an app has registered holds for all files.
        let categories = files.compactMap { $0["categories"].map(ButtonCategories.init) }
            .reduce(ButtonCategories()) { $0.adding($1) }
        let nudge = first("nudge") { NeutralTemplates($0, categories: categories) } ?? .standard
        let values = files.flatMap { $0.require("rules", "a list of rules, first match wins")?.list() ?? [] }
        let rules = values.enumerated().compactMap {
            RuleReader(number: $0 + 1, categories: categories, nudge: nudge).rule($1)
        }
        Self.checkNames(values)
        if files.allSatisfy(\.value.file.mistakes.isEmpty) { RuleReach.check(rules, values) }
        self.init(
            rules: Self.rules(rules, coveredBy: nudge),
            summary: first("summary") { BatchTemplates.summary($0, categories: categories) }
                ?? BatchTemplates.standardSummary,
            nudge: nudge
        )
    }

    /// Traces and trials tell the rules of a file apart by their names.
    private static func checkNames(_ rules: [YAMLValue]) {
        var lines: [String: Int] = [:]
        for (index, rule) in rules.enumerated() {
            if index > 0, rule.file !== rules[index - 1].file { lines = [:] }
            guard rule.isMapping, let value = rule.mapping()?["name"], let name = value.writtenText else { continue }
            if let line = lines[name] {
                value.mistake("the rule in line \(line) is called '\(name.prefix(64))', too")
            } else {
                lines[name] = rule.line
            }
        }
    }

    /// The rules with covers for what is sealed that keep what all of them have in common.
    private static func rules(_ rules: [Rule], coveredBy nudge: NeutralTemplates) -> [Rule] {
        let shared = SharedPresentation(
            rules.filter { !$0.drops && $0.mode > .nudge }.map { ($0.texts, $0.payload.blocks) }
        )
        return shared == SharedPresentation() ? rules : rules.map { Rule($0, nudge: nudge, shared: shared) }
    }

    private static func checkVersion(_ top: YAMLMapping) {
        guard let version = top.require("version", "this file's format, 1"),
            version.scalar() != .whole(1)
        else { return }
        version.mistake("this Carillon reads version 1")
    }
}
