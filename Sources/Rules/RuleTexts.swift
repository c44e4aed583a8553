import Push
import Storage

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

    /// Reads the texts of `rule`. The localisation keys among them belong to ``PlatformBlocks``.
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

    /// One to four buttons, each with an id and a label.
    private static func actions(_ value: YAMLValue, _ vocabulary: TemplateVocabulary) -> [ActionTexts] {
        guard let list = value.list() else { return [] }
        if !(1...4).contains(list.count) { value.mistake("expected one to four buttons") }
        return list.compactMap { value in
            guard let action = value.mapping(keys: ["id", "label", "url", "icon"]),
                let id = action.require("id", "the id that the app gets when the button is tapped").flatMap({
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

/// A text in the languages that the operator provides.
struct LocalizedTemplate: Sendable {
    /// The text for all other languages.
    var fallback: Template
    var translations: [LanguageTag: Template] = [:]

    static let empty = LocalizedTemplate(fallback: .empty)

    /// Returns the text in `language`, or the nearest language (de for de-AT, pt-BR for pt-PT), or the default.
    func render(_ values: TemplateValues, in language: LanguageTag?) -> String {
        guard let tag = language?.nearest(among: translations.keys), let translation = translations[tag] else {
            return fallback.render(values)
        }
        return translation.render(values.speaking(tag))
    }

    /// Returns the same text with `values` filled in permanently.
    func rendered(_ values: TemplateValues) -> LocalizedTemplate {
        LocalizedTemplate(
            fallback: Template(literal: fallback.render(values)),
            translations: translations.mapValues { Template(literal: $0.render(values)) }
        )
    }

    /// Every text in it.
    var templates: [Template] { [fallback] + translations.values }
}

extension LocalizedTemplate {
    /// Reads a text, or a map of texts by language tag with a `default`. If `mayHaveKey`, it may also name a localised
    /// text of the app, which ``LocalizationKeys`` reads.
    init?(
        _ value: YAMLValue,
        in place: TextPlace = .line,
        speakingOf vocabulary: TemplateVocabulary = .event,
        mayHaveKey: Bool = false
    ) {
        guard value.isMapping else {
            guard let template = Template.read(value, in: place, speakingOf: vocabulary) else { return nil }
            self.init(fallback: template)
            return
        }
        guard let map = value.mapping(), let fallback = map.require("default", "the text for every other language")
        else { return nil }
        self.init(fallback: Template.read(fallback, in: place, speakingOf: vocabulary) ?? .empty)
        for (key, text) in map.members where key != "default" {
            if LocalizationKeys.keys.contains(key) {
                if !mayHaveKey { text.mistake("only a rule's title, subtitle and body may have a '\(key)'") }
                continue
            }
            guard let tag = Self.tag(key, text), let template = Template.read(text, in: place, speakingOf: vocabulary)
            else { continue }
            if translations.updateValue(template, forKey: tag) != nil {
                text.mistake("there is more than one text for \(tag)")
            }
        }
    }

    private static func tag(_ key: String, _ text: YAMLValue) -> LanguageTag? {
        // A longer tag would be cut and lose its meaning.
        guard let tag = LanguageTag(key), tag.description.utf8.count == key.utf8.count else {
            text.mistake(
                "'\(key.prefix(40))' is not a language; expected 'default' or a tag such as de, pt-BR or zh-Hant"
                    + NearestName.hint(key, among: ["default"] + LocalizationKeys.keys)
            )
            return nil
        }
        return tag
    }
}
