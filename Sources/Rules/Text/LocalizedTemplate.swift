import Notifications

/// A text in the languages that an operator wrote it in.
struct LocalizedTemplate: Sendable {
    /// For every language that has no text of its own.
    var fallback: Template
    var translations: [LanguageTag: Template] = [:]

    static let empty = LocalizedTemplate(fallback: .empty)

    /// In the words of `language`, of what it falls back to (de-AT, then de), or else of the default.
    func render(_ values: TemplateValues, in language: LanguageTag?) -> String {
        guard let language, !translations.isEmpty else { return fallback.render(values) }
        for tag in language.fallbacks {
            if let translation = translations[tag] { return translation.render(values.speaking(tag)) }
        }
        return fallback.render(values)
    }

    /// The same with `values` put in for good.
    func rendered(_ values: TemplateValues) -> LocalizedTemplate {
        LocalizedTemplate(
            fallback: Template(literal: fallback.render(values)),
            translations: translations.mapValues { Template(literal: $0.render(values)) }
        )
    }

    /// Every text in it.
    var templates: [Template] { [fallback] + translations.values }
}
