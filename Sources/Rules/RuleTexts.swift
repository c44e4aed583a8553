import Notifications

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

    /// Whether any of the texts may put in `variable`.
    func speaksOf(_ variable: String) -> Bool {
        templates.contains { $0.variables.contains(variable) }
    }

    /// What these texts are written in, defaults apart.
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
