import YAMLReading

/// What the texts of one place may speak of.
struct TemplateVocabulary: Sendable {
    private let variables: [TemplateVariable]
    private let knowsTags: Bool

    /// For texts about an event.
    static let event = TemplateVocabulary(variables: TemplateVariable.ofEvents, knowsTags: true)
    /// For texts that may say nothing of any event.
    static let batch = TemplateVocabulary(variables: TemplateVariable.ofBatches, knowsTags: false)

    /// Every variable, as a person is told them.
    var names: [String] {
        variables.map(\.name)
            + (knowsTags
                ? [
                    TemplateVariable.tagPrefix + "NAME", TemplateVariable.tagPrefix + "NAME.2",
                    TemplateVariable.listPrefix + "NAME", TemplateVariable.fieldPrefix + "NAME",
                ] : [])
    }

    /// The variable of that whole name.
    func variable(_ name: String) -> TemplateVariable? {
        if let variable = variables.first(where: { $0.name == name }) { return variable }
        return knowsTags ? TemplateVariable.made(name) : nil
    }

    /// Whether variables stand behind `name` and a dot.
    func isGroup(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && variables.contains { $0.name.hasPrefix("\(name).") }
    }

    func unknownVariable(_ name: some StringProtocol) -> TemplateError {
        let whole = name.isEmpty ? nil : variables.first { $0.name.hasSuffix(".\(name)") }?.name
        let hint =
            whole.map { "; did you mean '\($0)'?" } ?? NearestName.hint(String(name), among: variables.map(\.name))
        return TemplateError(
            "there is no variable '\(name.prefix(40))'"
                + (hint.isEmpty ? "; there are " + names.joined(separator: ", ") : hint)
        )
    }
}
