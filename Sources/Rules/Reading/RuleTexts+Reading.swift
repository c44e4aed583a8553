import YAMLReading

extension RuleTexts {
    /// The keys of a rule that are read here.
    static let keys = ["title", "subtitle", "body", "category", "thread", "collapse", "url", "actions"]

    /// Takes the texts out of `rule`. The localisation keys among them belong to ``PlatformBlocks``.
    init(reading rule: YAMLMapping, speakingOf vocabulary: TemplateVocabulary = .event) {
        func text(_ key: String, _ place: TextPlace) -> LocalizedTemplate {
            rule[key].flatMap { LocalizedTemplate($0, in: place, speakingOf: vocabulary, mayHaveKey: true) } ?? .empty
        }
        func template(_ key: String, _ place: TextPlace) -> Template {
            rule[key].flatMap { Template.read($0, in: place, speakingOf: vocabulary) } ?? .empty
        }
        self.init(
            title: text("title", .line),
            subtitle: text("subtitle", .line),
            body: text("body", .paragraph),
            category: template("category", .identifier),
            thread: template("thread", .identifier),
            collapse: template("collapse", .identifier),
            url: template("url", .url),
            actions: rule["actions"].map { Self.actions($0, vocabulary) } ?? []
        )
    }

    /// Seed 002: one to four buttons, each with an id and a label.
    private static func actions(_ value: YAMLValue, _ vocabulary: TemplateVocabulary) -> [ActionTexts] {
        guard let list = value.list() else { return [] }
        if !(1...4).contains(list.count) { value.mistake("expected one to four buttons") }
        return list.compactMap { value in
            guard let action = value.mapping(keys: ["id", "label", "url", "icon"]),
                let id = action.require("id", "what the app learns when the button is tapped").flatMap({
                    Template.read($0, in: .identifier, speakingOf: vocabulary)
                }),
                let label = action.require("label", "the text on the button").flatMap({
                    LocalizedTemplate($0, speakingOf: vocabulary)
                })
            else { return nil }
            return ActionTexts(
                id: id,
                label: label,
                url: action["url"].flatMap { Template.read($0, in: .url, speakingOf: vocabulary) } ?? .empty,
                icon: action["icon"].flatMap { Template.read($0, in: .identifier, speakingOf: vocabulary) } ?? .empty
            )
        }
    }
}
