import Notifications

/// What stands in place of the texts where they may not be seen (``Mode/nudge``, ``Mode/sealed``). Knows nothing of an event
/// but how many there are.
struct NeutralTemplates: Sendable {
    var title: LocalizedTemplate
    var body: LocalizedTemplate

    /// In force where the rules file says nothing.
    static let standard = NeutralTemplates(title: LocalizedTemplate(fallback: standardTitle), body: .empty)

    private static let standardTitle =
        (try? Template(
            "{{#batch}}{{count}} new notifications{{/batch}}{{^batch}}New notification{{/batch}}",
            speakingOf: .batch
        )) ?? .empty

    func render(count: UInt32, in language: LanguageTag?) -> NeutralTexts {
        let values = TemplateValues(count: count)
        return NeutralTexts(title: title.render(values, in: language), body: body.render(values, in: language))
    }
}
