import Core
import JSON
import Push
import Storage

extension JSONTemplate {
    /// Reads any value of the file. Its strings are templates, and a template with YAML's tag `!!int` or `!!float`
    /// becomes a number.
    ///
    /// If `isComplete`, an object that lacks a member is omitted as a whole, because the app could not decode it.
    ///
    /// Returns nil and records the error if a template is invalid.
    init?(free value: YAMLValue, isComplete: Bool = false) {
        if value.isMapping {
            guard let members = value.mapping()?.members else { return nil }
            self.init(members: members, areRequired: isComplete) { JSONTemplate(free: $0, isComplete: isComplete) }
        } else if value.isList {
            let elements = (value.list() ?? []).compactMap { JSONTemplate(free: $0, isComplete: isComplete) }
            self = .joined(elements, areRequired: isComplete)
        } else if let digits = value.clientDigits {
            // Kept as written: a 20-digit id would change as a Double.
            guard Double(digits)?.isFinite ?? false else {
                value.mistake("expected a number of at most 1.8e308")
                return nil
            }
            self = .constant(Array(digits.utf8))
        } else {
            guard let scalar = value.scalar() else { return nil }
            switch scalar {
            case .null: self = .constant { $0.append("null") }
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
                    ? .whole(template, in: Int.min...Int.max) : .number(template, in: ValueSchema.anyNumber)
            case .text(let text): self.init(free: text, value)
            }
        }
    }

    /// Creates an object with any keys, whose values `read` returns.
    init(
        members: [(key: String, value: YAMLValue)],
        areRequired: Bool = false,
        _ read: (YAMLValue) -> JSONTemplate?
    ) {
        self = .joined(
            members.compactMap { key, value in
                if key.contains("{{") {
                    value.mistake("expected no variables in a key: it is the same for every event")
                }
                return read(value).map { Member(key: key, value: $0, isRequired: areRequired) }
            }
        )
    }

    /// Reads a text of the file.
    init?(free text: String, _ value: YAMLValue) {
        guard text.contains("{{") else {
            self = .literal(text)
            return
        }
        // Apps may show it in several lines.
        guard let template = Template.read(value, in: .paragraph) else { return nil }
        self = .text(template, .paragraph)
    }
}

extension Template {
    /// Reads a template for a number. Returns nil and records the error unless it is one numeric variable.
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

extension JSONTemplate {
    /// Reads `value` as an object of these keys. Invalid values are recorded and omitted.
    init?(_ value: YAMLValue, _ schema: ObjectSchema) {
        guard let mapping = value.mapping(keys: schema.names) else { return nil }
        var members: [Member] = []
        for (name, value) in mapping.members {
            guard let key = schema[name] else {
                if let free = JSONTemplate(free: value) { members.append(Member(key: name, value: free)) }
                continue
            }
            if name == key.alias, mapping[key.name] != nil {
                value.mistake("this is another name of '\(key.name)'; use only one of them")
            }
            guard let template = JSONTemplate(value, key.schema) else { continue }
            let isRequired = key.isEssential || schema.required.contains(key.name)
            members.append(Member(key: key.name, value: template, isRequired: isRequired))
        }
        self = .joined(members)
    }

    /// Returns nil and records the error if `value` does not fit the schema.
    init?(_ value: YAMLValue, _ schema: ValueSchema) {
        switch schema {
        case .text(let text): self.init(text: value, TextForm(text))
        case .textOrNull:
            if value.scalar() == .null {
                self = .constant { $0.append("null") }
            } else {
                self.init(text: value, TextForm.line)
            }
        case .flag(let spelling): self.init(flag: value, spelling)
        case .integer(let range): self.init(whole: value, range)
        case .integers(let numbers): self.init(oneOf: numbers, value)
        case .number(let range): self.init(number: value, range)
        case .choice(let choices, isFixed: false): self.init(choice: value, choices)
        case .choice(let choices, isFixed: true):
            guard let word = value.choice(choices) else { return nil }
            self = .literal(word)
        case .moment(let spelling): self.init(moment: value, spelling)
        case .span(let spelling, let limit): self.init(span: value, spelling, limit: limit)
        case .list(let element, let count):
            guard let list = value.list() else { return nil }
            if !count.contains(list.count) {
                value.mistake("expected \(count.lowerBound) to \(count.upperBound) values")
            }
            self = .joined(list.compactMap { JSONTemplate($0, element) })
        case .object(let object): self.init(value, object)
        case .dictionary(let element):
            guard let members = value.mapping()?.members else { return nil }
            self.init(members: members) { JSONTemplate($0, element) }
        case .freeObject(let isComplete):
            guard value.mapping() != nil else { return nil }
            self.init(free: value, isComplete: isComplete)
        case .either(let scalar, let object):
            if value.isMapping { self.init(value, object) } else { self.init(value, scalar) }
        case .any: self.init(free: value)
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

    private init?(flag value: YAMLValue, _ form: FlagSpelling) {
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

extension JSONTemplate {
    /// A number, with or without a fraction.
    init?(number value: YAMLValue, _ range: ClosedRange<Double>) {
        switch value.scalar() {
        case .whole(let number) where range.contains(Double(number)): self = .literal(number)
        case .number(let number) where range.contains(number): self = .constant { $0.append(number) }
        case .text(let text) where text.contains("{{"):
            guard let template = Template(numeric: text, value) else { return nil }
            self = .number(template, in: range)
        default:
            let isAny = range == ValueSchema.anyNumber
            let bounds = isAny ? "" : " from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))"
            value.mistake("expected a number" + bounds)
            return nil
        }
    }

    /// Reads a point in time. If it is the same for every notification, it is written only once.
    init?(moment value: YAMLValue, _ form: MomentSpelling) {
        switch value.scalar() {
        case .whole(let seconds):
            let moment = Timestamp(seconds: Int64(seconds))
            guard MomentSpelling.range.contains(moment) else {
                value.mistake("expected seconds since 1970, not after the year 9999")
                return nil
            }
            self = .constant { form.append(moment, to: &$0) }
        case .text(let text):
            guard let moment = MomentTemplate(text, form: form) else { fallthrough }
            self = .moment(moment)
        default:
            value.mistake(MomentTemplate.expectation)
            return nil
        }
    }

    /// Reads a duration: `4h`, or a whole number of seconds.
    init?(span value: YAMLValue, _ spelling: SpanSpelling, limit: Duration) {
        let span: Duration? =
            switch value.scalar() {
            case .whole(let seconds) where (0...Int(Int32.max)).contains(seconds): .seconds(seconds)
            case .text(let text): SpanSpelling.read(text)
            default: nil
            }
        guard let span else {
            value.mistake(SpanSpelling.expectation)
            return nil
        }
        if let mistake = spelling.mistake(in: span, limit: limit) {
            value.mistake(mistake)
            return nil
        }
        self = .constant { spelling.append(span, to: &$0) }
    }

    private static func text(_ number: Double) -> String {
        Int(exactly: number).map(String.init) ?? String(number)
    }
}
