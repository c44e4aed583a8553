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
        let rules = files.flatMap { file in
            let categories = file["categories"].map(ButtonCategories.init) ?? ButtonCategories()
            let rules = file.require("rules", "a list of rules, first match wins")?.list() ?? []
            return rules.map { (rule: $0, categories: categories) }
        }
        self.init(
            rules: rules.enumerated().compactMap {
                RuleReader(number: $0 + 1, categories: $1.categories).rule($1.rule)
            },
            summary: first("summary", SummaryTexts.init) ?? SummaryTexts(),
            nudge: first("nudge", NeutralTemplates.init) ?? .standard
        )
    }

    private static func checkVersion(_ top: YAMLMapping) {
        guard let version = top.require("version", "this file's format, 1"),
            let number = version.integer(in: 0...Int.max),
            number != 1
        else { return }
        version.mistake("this Carillon reads version 1")
    }
}
