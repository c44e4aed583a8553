import YAMLReading

extension JSONTemplate {
    /// Any value of the file: its strings are templates, and a template under YAML's tag `!!int` or `!!float` becomes a
    /// number.
    ///
    /// If it `isComplete`, an object that lacks a member is left out as a whole: the app could not decode it.
    ///
    /// Nil, with the mistake noted, for a broken template.
    init?(free value: YAMLValue, isComplete: Bool = false) {
        if value.isMapping {
            guard let members = value.mapping()?.members else { return nil }
            self.init(members: members, areRequired: isComplete) { JSONTemplate(free: $0, isComplete: isComplete) }
        } else if value.isList {
            let elements = (value.list() ?? []).compactMap { JSONTemplate(free: $0, isComplete: isComplete) }
            self = .joined(elements, areRequired: isComplete)
        } else {
            guard let scalar = value.scalar() else { return nil }
            switch scalar {
            case .null: self = .constant { $0.appendNull() }
            case .whole(let number): self = .literal(number)
            case .number(let number):
                if value.isTaggedAsWhole, Int(exactly: number) == nil {
                    value.mistake("expected a whole number under !!int")
                }
                self = .constant { $0.append(number) }
            case .flag(let flag): self = .constant { $0.append(flag) }
            case .text(let text) where value.isTaggedAsNumber:
                guard let template = Template(numeric: text, value) else { return nil }
                self =
                    value.isTaggedAsWhole
                    ? .whole(template, in: Int.min...Int.max) : .number(template, in: BlockValueType.anyNumber)
            case .text(let text): self.init(text: text, value)
            }
        }
    }

    /// An object under whose keys, which may be any, `read` finds the values.
    init(
        members: [(key: String, value: YAMLValue)],
        areRequired: Bool = false,
        _ read: (YAMLValue) -> JSONTemplate?
    ) {
        self = .joined(
            members.compactMap { key, value in
                if key.contains("{{") {
                    value.mistake("a key is the same for every event: expected no variables in it")
                }
                return read(value).map { Member(key: key, value: $0, isRequired: areRequired) }
            }
        )
    }

    /// A text of the file.
    init?(text: String, _ value: YAMLValue) {
        guard text.contains("{{") else {
            self = .literal(text)
            return
        }
        // An app shows it as it likes, in several lines, too.
        guard let template = Template.read(value, in: .paragraph) else { return nil }
        self = .text(template, .lines)
    }
}

extension Template {
    /// A template where a number is wanted. Nil, with the mistake noted, unless it is one numeric variable.
    init?(numeric text: String, _ value: YAMLValue) {
        guard NumericVariable.isWhole(text) else {
            value.mistake(
                "expected a number, or one variable that is a number: "
                    + NumericVariable.names.map { "{{\($0)}}" }.joined(separator: ", ")
            )
            return nil
        }
        guard let template = Template.read(value) else { return nil }
        self = template
    }
}
