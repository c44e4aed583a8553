import YAMLReading

extension RuleTexts {
    /// The keys of a rule that are read here.
    static let keys = ["title", "subtitle", "body", "category", "thread", "collapse", "url", "actions"]

    /// Takes the texts out of `rule`.
    init(reading rule: YAMLMapping) {
        func template(_ key: String) -> Template { rule[key].flatMap(Template.read) ?? .empty }
        func localized(_ key: String) -> LocalizedTemplate { rule[key].flatMap(LocalizedTemplate.init) ?? .empty }
        self.init(
            title: localized("title"),
            subtitle: localized("subtitle"),
            body: localized("body"),
            category: template("category"),
            thread: template("thread"),
            collapse: template("collapse"),
            url: template("url"),
            actions: rule["actions"].map(Self.actions) ?? []
        )
    }

    /// Seed 002: one to four buttons, each with an id and a label.
    private static func actions(_ value: YAMLValue) -> [ActionTexts] {
        guard let list = value.list() else { return [] }
        if !(1...4).contains(list.count) { value.mistake("expected one to four buttons") }
        return list.compactMap { value in
            guard let action = value.mapping(keys: ["id", "label", "url", "icon"]),
                let id = action.require("id", "what the app learns when the button is tapped").flatMap(Template.read),
                let label = action.require("label", "the text on the button").flatMap(LocalizedTemplate.init)
            else { return nil }
            return ActionTexts(
                id: id,
                label: label,
                url: action["url"].flatMap(Template.read) ?? .empty,
                icon: action["icon"].flatMap(Template.read) ?? .empty
            )
        }
    }
}
