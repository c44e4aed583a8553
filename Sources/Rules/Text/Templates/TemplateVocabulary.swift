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
        variables.map(\.name) + (knowsTags ? [TemplateVariable.tagPrefix + "NAME"] : [])
    }

    /// The variables that `name` may mean: a whole name means itself; the part behind the dot, which is enough inside of its
    /// group's section, whichever ends so.
    func variables(meantBy name: Substring) -> [TemplateVariable] {
        guard !name.isEmpty else { return [] }
        let meant = variables.filter { $0.name == name || $0.name.hasSuffix(".\(name)") }
        return meant + (tag(meantBy: name).map { [$0] } ?? [])
    }

    /// Whether `name` is the whole name of a variable.
    func knows(_ name: String) -> Bool {
        variables.contains { $0.name == name }
            || knowsTags && name.hasPrefix(TemplateVariable.tagPrefix) && tag(meantBy: name[...]) != nil
    }

    /// Whether variables stand behind `name` and a dot.
    func isGroup(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && variables.contains { $0.name.hasPrefix("\(name).") }
    }

    func unknownVariable(_ name: some StringProtocol) -> TemplateError {
        let hint = NearestName.hint(String(name), among: variables.map(\.name))
        return TemplateError(
            "there is no variable '\(name.prefix(40))'"
                + (hint.isEmpty ? "; there are " + names.joined(separator: ", ") : hint)
        )
    }

    private func tag(meantBy name: Substring) -> TemplateVariable? {
        guard knowsTags else { return nil }
        // Inside of the event's section the group itself is not named.
        for prefix in [TemplateVariable.tagPrefix, "tag."] where name.hasPrefix(prefix) {
            return TemplateVariable.tag(name.dropFirst(prefix.count))
        }
        return nil
    }
}
