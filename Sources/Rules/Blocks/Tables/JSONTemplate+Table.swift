import YAMLReading

extension JSONTemplate {
    /// Reads `value` as an object of these keys. What is wrong is noted, and left out.
    init?(_ value: YAMLValue, table: BlockTable) {
        guard let mapping = value.mapping(keys: table.names) else { return nil }
        var members: [Member] = []
        for (name, value) in mapping.members {
            guard let key = table.keys.first(where: { $0.name == name || $0.alias == name }) else { continue }
            if name == key.alias, mapping[key.name] != nil {
                value.mistake("this is '\(key.name)' under another name; give one of them")
            }
            guard let template = JSONTemplate(value, key.type) else { continue }
            members.append(Member(key: key.name, value: template, isRequired: key.isRequired))
        }
        self = .joined(members)
    }

    /// Nil, with the mistake noted, when `value` is not of that type.
    init?(_ value: YAMLValue, _ type: BlockValueType) {
        switch type {
        case .text(let form): self.init(text: value, form)
        case .textOrNull:
            if value.scalar() == .null { self = .constant { $0.appendNull() } } else { self.init(text: value, .any) }
        case .flag(let form): self.init(flag: value, form)
        case .whole(let range): self.init(whole: value, range)
        case .oneOf(let numbers): self.init(oneOf: numbers, value)
        case .number(let range): self.init(number: value, range)
        case .choice(let choices): self.init(choice: value, choices)
        case .fixedChoice(let choices):
            guard let word = value.choice(choices) else { return nil }
            self = .literal(word)
        case .moment(let form): self.init(moment: value, form)
        case .span(let form): self.init(span: value, form)
        case .list(let type, let count):
            guard let list = value.list() else { return nil }
            if !count.contains(list.count) {
                value.mistake("expected \(count.lowerBound) to \(count.upperBound) values")
            }
            self = .joined(list.compactMap { JSONTemplate($0, type) })
        case .object(let table): self.init(value, table: table)
        case .dictionary(let type):
            guard let members = value.mapping()?.members else { return nil }
            self.init(members: members) { JSONTemplate($0, type) }
        case .freeObject, .completeObject:
            guard value.mapping() != nil else { return nil }
            if case .completeObject = type { self.init(free: value, isComplete: true) } else { self.init(free: value) }
        case .either(let type, let table):
            if value.isMapping { self.init(value, table: table) } else { self.init(value, type) }
        }
    }

    private init?(text value: YAMLValue, _ form: TextForm) {
        guard let text = value.string() else { return nil }
        if text.contains("{{") {
            guard let template = Template.read(value, in: form.place) else { return nil }
            self = .text(template, form)
        } else if let mistake = form.mistake(in: text) {
            value.mistake(mistake)
            return nil
        } else {
            self = .literal(text)
        }
    }

    private init?(flag value: YAMLValue, _ form: FlagForm) {
        switch value.scalar() {
        case .flag(let flag): self = .constant { form.append(flag, to: &$0) }
        case .whole(let number) where form == .oneOrZero && (0...1).contains(number):
            self = .constant { form.append(number == 1, to: &$0) }
        case .text(let word) where form == .yesOrNo && ["yes", "no"].contains(word):
            self = .constant { form.append(word == "yes", to: &$0) }
        case .text(let text) where text.contains("{{"):
            guard let template = Template(numeric: text, value) else { return nil }
            self = .flag(template, form)
        default:
            value.mistake(form.expectation)
            return nil
        }
    }

    private init?(whole value: YAMLValue, _ range: ClosedRange<Int>) {
        if case .text(let text) = value.scalar(), text.contains("{{") {
            guard let template = Template(numeric: text, value) else { return nil }
            self = .whole(template, in: range)
        } else {
            guard let number = value.integer(in: range) else { return nil }
            self = .literal(number)
        }
    }

    private init?(oneOf numbers: [Int], _ value: YAMLValue) {
        guard case .whole(let number) = value.scalar(), numbers.contains(number) else {
            value.mistake("expected one of " + numbers.map(String.init).joined(separator: ", "))
            return nil
        }
        self = .literal(number)
    }

    private init?(choice value: YAMLValue, _ choices: [String]) {
        if case .text(let text) = value.scalar(), text.contains("{{") {
            guard let template = Template.read(value) else { return nil }
            self = .choice(template, of: choices)
        } else {
            guard let word = value.choice(choices) else { return nil }
            self = .literal(word)
        }
    }
}
