/// The texts of a rule, as templates.
struct RuleTexts: Sendable {
    var title = Template.empty
    var subtitle = Template.empty
    var body = Template.empty
    var category = Template.empty
    var thread = Template.empty
    var collapse = Template.empty
    var url = Template.empty
    var actions: [ActionTexts] = []

    /// Whether any of the texts may put in `variable`.
    func speaksOf(_ variable: String) -> Bool {
        let buttons = actions.flatMap { [$0.id, $0.label, $0.url, $0.icon] }
        return ([title, subtitle, body, category, thread, collapse, url] + buttons).contains {
            $0.variables.contains(variable)
        }
    }

    /// The texts of one button.
    struct ActionTexts: Sendable {
        var id: Template
        var label: Template
        var url = Template.empty
        var icon = Template.empty
    }
}
