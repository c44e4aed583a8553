import YAMLReading

extension JSONTemplate {
    /// Any value of the file: its strings are templates, and a template under YAML's tag `!!int` or `!!float` becomes a
    /// number.
    ///
    /// Nil, with the mistake noted, for a broken template.
    init?(free value: YAMLValue) {
        if value.isMapping {
            guard let members = value.mapping()?.members else { return nil }
            self.init(members: members) { JSONTemplate(free: $0) }
        } else if value.isList {
            self = .joined((value.list() ?? []).compactMap(JSONTemplate.init(free:)))
        } else {
            guard let scalar = value.scalar() else { return nil }
            switch scalar {
            case .null: self = .constant { $0.appendNull() }
            case .whole(let number): self = .literal(number)
            case .number(let number): self = .constant { $0.append(number) }
            case .flag(let flag): self = .constant { $0.append(flag) }
            case .text(let text) where value.isTaggedAsNumber:
                self.init(number: text, in: BlockValueType.anyNumber, value)
            case .text(let text): self.init(text: text, value)
            }
        }
    }

    /// An object under whose keys, which may be any, `read` finds the values.
    init(members: [(key: String, value: YAMLValue)], _ read: (YAMLValue) -> JSONTemplate?) {
        self = .joined(
            members.compactMap { key, value in
                if key.contains("{{") {
                    value.mistake("a key is the same for every event: expected no variables in it")
                }
                return read(value).map { Member(key: key, value: $0) }
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

    private init?(number text: String, in range: ClosedRange<Double>, _ value: YAMLValue) {
        guard let template = Template(numeric: text, value) else { return nil }
        self = .number(template, in: range)
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
