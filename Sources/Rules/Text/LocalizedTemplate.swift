import Notifications

/// A text in the languages that an operator wrote it in.
struct LocalizedTemplate: Sendable {
    /// For every language that has no text of its own.
    var fallback: Template
    var translations: [LanguageTag: Template] = [:]

    static let empty = LocalizedTemplate(fallback: .empty)

    /// In the words of `language`, of the nearest one that there is (de for de-AT, pt-BR for pt-PT), or of the default.
    func render(_ values: TemplateValues, in language: LanguageTag?) -> String {
        guard let tag = language?.nearest(among: translations.keys), let translation = translations[tag] else {
            return fallback.render(values)
        }
        return translation.render(values.speaking(tag))
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
