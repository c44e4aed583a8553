import Core
import JSON
import Nostr
import Push

/// JSON whose strings are templates: a value of a rule's platform block. It is read and checked once, and rendered
/// often.
///
/// A value that is invalid for its key, such as a string for a number, is omitted together with its key. If the key is
/// required, the object around it is omitted too.
indirect enum JSONTemplate: Sendable {
    /// JSON that is the same for every notification.
    case constant([UInt8])
    /// A string of that form. The service would refuse the whole message with any other.
    case text(Template, TextForm)
    /// One of these words.
    case choice(Template, of: [String])
    case whole(Template, in: ClosedRange<Int>)
    case number(Template, in: ClosedRange<Double>)
    /// False for 0, true for every other number.
    case flag(Template, FlagSpelling)
    case moment(MomentTemplate)
    case object([Member])
    /// If it `isComplete`, the list is omitted when one of its elements is.
    case list([JSONTemplate], isComplete: Bool)

    struct Member: Sendable {
        var key: String
        var value: JSONTemplate
        /// Whether the object is omitted without this member.
        var isRequired = false
    }

    /// Its JSON if it is the same for every notification; nil if it has variables.
    var json: String? {
        guard case .constant(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The full names of the variables that its templates use.
    var variables: Set<String> {
        switch self {
        case .constant: []
        case .text(let template, _), .choice(let template, _), .whole(let template, _), .number(let template, _),
            .flag(let template, _):
            template.variables
        case .moment(let moment): moment.variables
        case .object(let members): members.reduce(into: []) { $0.formUnion($1.value.variables) }
        case .list(let elements, _): elements.reduce(into: []) { $0.formUnion($1.variables) }
        }
    }

    /// Whether the whole value is omitted for some events.
    var mayBeLeftOut: Bool {
        switch self {
        case .constant: false
        case .text(_, let form): form.refusesSome
        case .choice, .whole, .number, .flag, .moment: true
        case .object(let members): members.contains { $0.isRequired && $0.value.mayBeLeftOut }
        case .list(let elements, let isComplete): isComplete && elements.contains(where: \.mayBeLeftOut)
        }
    }

    /// Returns the JSON, or nil if the value is omitted. Adds the paths of omitted values to `omitted`.
    func render(_ values: TemplateValues, now: Timestamp, omitted: inout OmittedPaths) -> String? {
        var json = JSONText()
        return append(to: &json, values, now, &omitted) ? String(decoding: json.bytes, as: UTF8.self) : nil
    }

    /// Writes the value. Returns false if it is omitted; the caller then removes the partial output.
    private func append(
        to json: inout JSONText,
        _ values: TemplateValues,
        _ now: Timestamp,
        _ omitted: inout OmittedPaths
    ) -> Bool {
        switch self {
        case .constant(let bytes):
            json.bytes += bytes
            return true
        case .object(let members):
            return Self.append(members, to: &json, values, now, &omitted)
        case .list(let elements, let isComplete):
            let isWhole = Self.append(elements, to: &json, values, now, &omitted)
            return isWhole || !isComplete
        case .text, .choice, .whole, .number, .flag, .moment:
            let isFit = appendRendered(to: &json, values, now)
            if !isFit { omitted.add() }
            return isFit
        }
    }

    /// Writes a template's result. Returns false if it is invalid.
    private func appendRendered(to json: inout JSONText, _ values: TemplateValues, _ now: Timestamp) -> Bool {
        switch self {
        case .text(let template, let form):
            let text = template.render(values)
            guard form.takes(rendered: text) else { return false }
            json.appendQuoted(text)
        case .choice(let template, let choices):
            let word = template.render(values)
            guard choices.contains(word) else { return false }
            json.appendQuoted(word)
        case .whole(let template, let range):
            guard let whole = NumericVariable.whole(template.render(values)), range.contains(whole) else {
                return false
            }
            json.append(whole)
        case .number(let template, let range):
            let text = template.render(values)
            guard let number = NumericVariable.number(text), range.contains(number) else { return false }
            // A Double cannot hold every integer beyond 2^53.
            if let whole = Int64(text) { json.append(whole) } else { json.append(number) }
        case .flag(let template, let form):
            guard let number = NumericVariable.number(template.render(values)) else { return false }
            form.append(number != 0, to: &json)
        case .moment(let moment):
            guard let time = moment.render(values, now: now) else { return false }
            moment.form.append(time, to: &json)
        case .constant, .object, .list: break
        }
        return true
    }

    private static func append(
        _ members: [Member],
        to json: inout JSONText,
        _ values: TemplateValues,
        _ now: Timestamp,
        _ omitted: inout OmittedPaths
    ) -> Bool {
        json.append("{")
        var (isFirst, isWhole) = (true, true)
        for member in members {
            let (end, count) = (json.bytes.count, omitted.count)
            if !isFirst { json.append(",") }
            json.appendQuoted(member.key)
            json.append(":")
            if member.value.append(to: &json, values, now, &omitted) {
                isFirst = false
            } else {
                json.bytes.removeLast(json.bytes.count - end)
                if member.isRequired { isWhole = false }
            }
            omitted.put(member.key, beforeThoseSince: count)
        }
        json.append("}")
        return isWhole
    }

    /// Returns false if an element is omitted.
    private static func append(
        _ elements: [JSONTemplate],
        to json: inout JSONText,
        _ values: TemplateValues,
        _ now: Timestamp,
        _ omitted: inout OmittedPaths
    ) -> Bool {
        json.append("[")
        var (isFirst, isWhole) = (true, true)
        for (index, element) in elements.enumerated() {
            let (end, count) = (json.bytes.count, omitted.count)
            if !isFirst { json.append(",") }
            if element.append(to: &json, values, now, &omitted) {
                isFirst = false
            } else {
                json.bytes.removeLast(json.bytes.count - end)
                isWhole = false
            }
            omitted.put("[\(index)]", beforeThoseSince: count)
        }
        json.append("]")
        return isWhole
    }
}

/// The paths of omitted values, such as `content-state.score` and `actions[0].url`.
struct OmittedPaths {
    private(set) var paths: [String] = []

    var count: Int { paths.count }

    /// Records that the value itself was omitted.
    mutating func add() {
        paths.append("")
    }

    /// Prefixes the paths from number `count` on with `step`, a key or an index.
    mutating func put(_ step: String, beforeThoseSince count: Int) {
        for index in paths.indices.dropFirst(count) {
            let rest = paths[index]
            paths[index] = rest.isEmpty || rest.hasPrefix("[") ? step + rest : "\(step).\(rest)"
        }
    }
}

extension JSONTemplate {
    static func constant(_ write: (inout JSONText) -> Void) -> JSONTemplate {
        var json = JSONText()
        write(&json)
        return .constant(json.bytes)
    }

    static func literal(_ text: String) -> JSONTemplate {
        constant { $0.appendQuoted(text) }
    }

    static func literal(_ number: Int) -> JSONTemplate {
        constant { $0.append(number) }
    }

    /// Creates an object of these members. It is a constant if all of them are.
    static func joined(_ members: [Member]) -> JSONTemplate {
        var json = JSONText()
        json.append("{")
        for (index, member) in members.enumerated() {
            guard case .constant(let bytes) = member.value else { return .object(members) }
            if index > 0 { json.append(",") }
            json.appendQuoted(member.key)
            json.append(":")
            json.bytes += bytes
        }
        json.append("}")
        return .constant(json.bytes)
    }

    /// Creates a list of these elements. It is a constant if all of them are.
    static func joined(_ elements: [JSONTemplate], areRequired: Bool = false) -> JSONTemplate {
        var json = JSONText()
        json.append("[")
        for (index, element) in elements.enumerated() {
            guard case .constant(let bytes) = element else { return .list(elements, isComplete: areRequired) }
            if index > 0 { json.append(",") }
            json.bytes += bytes
        }
        json.append("]")
        return .constant(json.bytes)
    }
}

/// Changes of objects after reading.
extension JSONTemplate {
    /// Returns this object with `members` added to the object under `key`. Nil if either is not an object, or if it
    /// already has one of the members.
    func adding(_ members: [Member], under key: String) -> JSONTemplate? {
        guard var outer = self.members else { return nil }
        guard let index = outer.firstIndex(where: { $0.key == key }) else {
            return .joined(outer + [Member(key: key, value: .joined(members))])
        }
        guard let inner = outer[index].value.members,
            !inner.contains(where: { member in members.contains { $0.key == member.key } })
        else { return nil }
        outer[index].value = .joined(inner + members)
        return .joined(outer)
    }

    /// Returns this object with `change` applied to the value at `path`, if it depends on the event.
    func changing(_ path: some Collection<String>, _ change: (JSONTemplate) -> JSONTemplate) -> JSONTemplate {
        guard let key = path.first else { return change(self) }
        guard case .object(var members) = self, let index = members.firstIndex(where: { $0.key == key }) else {
            return self
        }
        members[index].value = members[index].value.changing(path.dropFirst(), change)
        return .object(members)
    }

    /// The value at `path`; nil if there is none.
    func value(at path: some Collection<String>) -> JSONTemplate? {
        guard let key = path.first else { return self }
        return members?.first { $0.key == key }?.value.value(at: path.dropFirst())
    }

    /// The part without variables; nil if there is none.
    var literals: JSONTemplate? {
        switch self {
        case .constant: self
        case .object(let members):
            .joined(
                members.compactMap { member in member.value.literals.map { Member(key: member.key, value: $0) } }
            )
        case .list(let elements, _): .joined(elements.compactMap(\.literals))
        case .text, .choice, .whole, .number, .flag, .moment: nil
        }
    }

    /// The members of an object; nil for other values.
    var members: [Member]? {
        switch self {
        case .object(let members): return members
        case .constant(let json):
            guard case .object(let object)? = try? JSONValue(parsing: String(decoding: json, as: UTF8.self)) else {
                return nil
            }
            return object.members.map { Member(key: $0.name, value: JSONTemplate($0.value)) }
        default: return nil
        }
    }

    init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .constant { $0.append("null") }
            case .bool(let flag): .constant { $0.append(flag) }
            case .number(let digits): .constant { $0.bytes += digits.utf8 }
            case .string(let text): .literal(text)
            case .array(let elements): .joined(elements.map(JSONTemplate.init))
            case .object(let object):
                .joined(object.members.map { Member(key: $0.name, value: JSONTemplate($0.value)) })
            }
    }
}
