import Notifications
import YAMLReading

extension RuleBook {
    /// Reads a rules file's text.
    ///
    /// `name` is the path as it should appear in mistakes. Throws all mistakes at once, each with its line and what was
    /// expected.
    package init(yaml text: String, name: String) throws(Mistakes) {
        let file = YAMLFile(name: name)
        let book = file.parse(text)?.mapping(keys: ["version", "rules", "summary"]).map(RuleBook.init)
        try file.throwMistakes()
        guard let book else {
            throw Mistakes([Mistake(file: name, message: "expected a mapping with version and rules")])
        }
        self = book
    }

    private init(_ top: YAMLMapping) {
        if let version = top.require("version", "this file's format, 1"), let number = version.integer(in: 0...Int.max),
            number != 1
        {
            version.mistake("this Carillon reads version 1")
        }
        rules = (top.require("rules", "a list of rules, first match wins")?.list() ?? []).enumerated().compactMap {
            RuleReader(number: $0 + 1).rule($1)
        }
        let summary = top["summary"]?.mapping(keys: ["title", "body"])
        self.summary = SummaryTexts(
            title: summary?["title"].flatMap(RuleReader.template) ?? Self.defaultSummaryTitle,
            body: summary?["body"].flatMap(RuleReader.template) ?? .empty
        )
    }

    private static let defaultSummaryTitle = (try? Template("{{count}} new notifications")) ?? .empty
}
