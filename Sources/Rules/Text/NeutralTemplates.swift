import Notifications

/// What stands in place of the texts where they may not be seen (``Mode/nudge``, ``Mode/sealed``). Knows nothing of an event
/// but how many there are.
struct NeutralTemplates: Sendable {
    let title: LocalizedTemplate
    let body: LocalizedTemplate
    /// For one event, which is by far the most frequent: it says the same each time.
    private let titleOfOne: LocalizedTemplate
    private let bodyOfOne: LocalizedTemplate

    /// Without a title it is the standard one.
    init(title: LocalizedTemplate? = nil, body: LocalizedTemplate = .empty) {
        let one = TemplateValues(count: 1)
        self.title = title ?? Self.standardTitle
        self.body = body
        titleOfOne = self.title.rendered(one)
        bodyOfOne = body.rendered(one)
    }

    /// In force where the rules file says nothing.
    static let standard = NeutralTemplates()

    private static let standardTitle = LocalizedTemplate(
        fallback: (try? Template(
            "{{#batch}}{{count}} new notifications{{/batch}}{{^batch}}New notification{{/batch}}",
            speakingOf: .batch
        )) ?? .empty
    )

    func render(count: UInt32, in language: LanguageTag?) -> NeutralTexts {
        let values = TemplateValues(count: count)
        let (title, body) = count == 1 ? (titleOfOne, bodyOfOne) : (title, body)
        return NeutralTexts(title: title.render(values, in: language), body: body.render(values, in: language))
    }
}
