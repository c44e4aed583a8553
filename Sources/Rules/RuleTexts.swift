import Notifications
import YAMLReading

/// The texts of a rule, as templates.
struct RuleTexts: Sendable {
    var title = LocalizedTemplate.empty
    var subtitle = LocalizedTemplate.empty
    var body = LocalizedTemplate.empty
    var category = Template.empty
    var thread = Template.empty
    var collapse = Template.empty
    var url = Template.empty
    var actions: [ActionTexts] = []

    /// Whether any of the texts uses `variable`.
    func speaksOf(_ variable: String) -> Bool {
        templates.contains { $0.variables.contains(variable) }
    }

    /// The languages of these texts, apart from the defaults.
    var languages: Set<LanguageTag> {
        Set(([title, subtitle, body] + actions.map(\.label)).flatMap(\.translations.keys))
    }

    /// Whether any of them shows something: a title, a second line or a text.
    var showAnything: Bool {
        [title, subtitle, body].contains { text in text.templates.contains { $0.literal != "" } }
    }

    func buttons(_ values: TemplateValues, in language: LanguageTag?) -> [NotificationAction] {
        actions.map {
            NotificationAction(
                id: $0.id.render(values),
                label: $0.label.render(values, in: language),
                url: AbsoluteURL.ifOne($0.url.render(values)),
                icon: $0.icon.render(values)
            )
        }
    }

    private var templates: [Template] {
        [title, subtitle, body].flatMap(\.templates) + [category, thread, collapse, url]
            + actions.flatMap { [$0.id, $0.url, $0.icon] + $0.label.templates }
    }

    /// The texts of one button.
    struct ActionTexts: Sendable {
        var id: Template
        var label: LocalizedTemplate
        var url = Template.empty
        var icon = Template.empty
    }
}

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
