import JSON
import Nostr

/// Objects that get further members after they were read.
extension JSONTemplate {
    /// This object with `members` in the object under `key`. Nil if either is no object, or one of the members is there already.
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

    /// This object with `change` made to the value under `key`, where it depends on the event.
    func changing(_ key: String, _ change: (JSONTemplate) -> JSONTemplate) -> JSONTemplate {
        guard case .object(var members) = self, let index = members.firstIndex(where: { $0.key == key }) else {
            return self
        }
        members[index].value = change(members[index].value)
        return .object(members)
    }

    /// The members of an object; nil for everything else.
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

    private init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .constant { $0.appendNull() }
            case .bool(let flag): .constant { $0.append(flag) }
            case .number(let digits): .constant { $0.append(json: Array(digits.utf8)) }
            case .string(let text): .literal(text)
            case .array(let elements): .joined(elements.map(JSONTemplate.init))
            case .object(let object):
                .joined(object.members.map { Member(key: $0.name, value: JSONTemplate($0.value)) })
            }
    }
}
