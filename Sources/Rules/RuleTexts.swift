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

    /// The texts of one button.
    struct ActionTexts: Sendable {
        var id: Template
        var label: Template
        var url = Template.empty
        var icon = Template.empty
    }
}
