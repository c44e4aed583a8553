/// JSON whose strings are templates: a value of a rule's platform block, read and checked once, rendered often.
///
/// A value that turns out not to be what its key wants (a template where a number stands, and no number comes of it) is
/// left out together with its key, which costs nothing else.
indirect enum JSONTemplate: Sendable {
    /// JSON that is the same for every notification.
    case constant([UInt8])
    /// A text of that form: the service would refuse the whole message for the sake of another.
    case text(Template, TextForm)
    /// One of these words.
    case choice(Template, of: [String])
    case whole(Template, in: ClosedRange<Int>)
    case number(Template, in: ClosedRange<Double>)
    /// False for 0, true for every other number.
    case flag(Template, FlagForm)
    case moment(MomentTemplate)
    case object([Member])
    case list([JSONTemplate])

    struct Member: Sendable {
        var key: String
        var value: JSONTemplate
    }

    /// The variables that its templates may put in or ask for, by their whole names.
    var variables: Set<String> {
        switch self {
        case .constant: []
        case .text(let template, _), .choice(let template, _), .whole(let template, _), .number(let template, _),
            .flag(let template, _):
            template.variables
        case .moment(let moment): moment.variables
        case .object(let members): members.reduce(into: []) { $0.formUnion($1.value.variables) }
        case .list(let elements): elements.reduce(into: []) { $0.formUnion($1.variables) }
        }
    }

    /// JSON text; nil when the value is left out as a whole.
    ///
    /// `now` is in milliseconds since 1970.
    func render(_ values: TemplateValues, now: Int64) -> String? {
        var json = RenderedJSON()
        return append(to: &json, values, now: now) ? json.text : nil
    }

    /// Writes the value; false when it is left out, and then whoever called takes back what was written.
    private func append(to json: inout RenderedJSON, _ values: TemplateValues, now: Int64) -> Bool {
        switch self {
        case .constant(let bytes):
            json.append(json: bytes)
        case .text(let template, let form):
            let text = template.render(values)
            guard form.takes(rendered: text) else { return false }
            json.append(quoted: text)
        case .choice(let template, let choices):
            let word = template.render(values)
            guard choices.contains(word) else { return false }
            json.append(quoted: word)
        case .whole(let template, let range):
            guard let number = NumericVariable.number(template.render(values)), let whole = Int(exactly: number),
                range.contains(whole)
            else { return false }
            json.append(Int64(whole))
        case .number(let template, let range):
            let text = template.render(values)
            guard let number = NumericVariable.number(text), range.contains(number) else { return false }
            // Beyond 2^53 a Double is another number.
            if let whole = Int64(text) { json.append(whole) } else { json.append(number) }
        case .flag(let template, let form):
            guard let number = NumericVariable.number(template.render(values)) else { return false }
            form.append(number != 0, to: &json)
        case .moment(let moment):
            guard let milliseconds = moment.render(values, now: now) else { return false }
            moment.form.append(milliseconds, to: &json)
        case .object(let members):
            appendObject(members, to: &json, values, now: now)
        case .list(let elements):
            appendList(elements, to: &json, values, now: now)
        }
        return true
    }

    private func appendObject(_ members: [Member], to json: inout RenderedJSON, _ values: TemplateValues, now: Int64) {
        json.append("{")
        var isFirst = true
        for member in members {
            let end = json.bytes.count
            if !isFirst { json.append(",") }
            json.append(quoted: member.key)
            json.append(":")
            if member.value.append(to: &json, values, now: now) { isFirst = false } else { json.truncate(to: end) }
        }
        json.append("}")
    }

    private func appendList(
        _ elements: [JSONTemplate],
        to json: inout RenderedJSON,
        _ values: TemplateValues,
        now: Int64
    ) {
        json.append("[")
        var isFirst = true
        for element in elements {
            let end = json.bytes.count
            if !isFirst { json.append(",") }
            if element.append(to: &json, values, now: now) { isFirst = false } else { json.truncate(to: end) }
        }
        json.append("]")
    }
}
