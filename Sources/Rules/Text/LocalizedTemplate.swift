import Notifications
import YAMLReading

/// A text in the languages that an operator wrote it in.
struct LocalizedTemplate: Sendable {
    /// For every language that has no text of its own.
    var fallback: Template
    var translations: [LanguageTag: Template] = [:]

    static let empty = LocalizedTemplate(fallback: .empty)

    /// In `language`, in the nearest one that there is (de for de-AT, pt-BR for pt-PT), or in the default.
    func render(_ values: TemplateValues, in language: LanguageTag?) -> String {
        guard let tag = language?.nearest(among: translations.keys), let translation = translations[tag] else {
            return fallback.render(values)
        }
        return translation.render(values.speaking(tag))
    }

    /// The same with `values` filled in permanently.
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
    /// Reads a text, or a map of texts by language tag with a `default`. If it `mayHaveKey`, it may also name a text of
    /// the app, which ``LocalizationKeys`` reads.
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
        // A longer tag would be cut, and its meaning lost.
        guard let tag = LanguageTag(key), tag.description.utf8.count == key.utf8.count else {
            text.mistake(
                "'\(key.prefix(40))' is no language; expected 'default' or a tag such as de, pt-BR or zh-Hant"
                    + NearestName.hint(key, among: ["default"] + LocalizationKeys.keys)
            )
            return nil
        }
        return tag
    }
}
