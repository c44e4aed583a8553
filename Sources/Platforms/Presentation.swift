import JSON

/// A key of a block that says how a notification makes itself noticed, and nothing about its content. A stricter mode
/// keeps its value where that is the same for every event.
package struct PresentationKey: Hashable, Sendable {
    package let name: String
    /// The values as JSON from the quietest to the loudest, where they have such an order.
    package let order: [String]
    /// What counts as the value where the key is missing, one of `order`.
    package let absent: String?
    /// Whether the key can make a notification louder by being there.
    package let isLoud: Bool
    /// Whether its value may tell one rule from another: a sealed push keeps it only where all rules say the same.
    package let tellsRule: Bool
    /// What stands in place of such a value on the outside of a sealed push, as JSON; nil: nothing.
    package let sealed: String?
    /// The members of a key that holds an object.
    package let members: [PresentationKey]

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("key", "order", "absent", "loud", "tells_rule", "sealed", "members")
        name = try members.required("key", of: reader).text()
        order = try members["order"]?.list().map(\.value.json) ?? []
        absent = members["absent"]?.value.json
        isLoud = try members["loud"]?.flag() ?? false
        tellsRule = try members["tells_rule"]?.flag() ?? false
        sealed = members["sealed"]?.value.json
        self.members = try members["members"]?.list().map { try PresentationKey($0) } ?? []
        if let absent, !order.contains(absent) {
            throw reader.error("'absent' is none of 'order'")
        }
    }
}

/// What a summary of several events takes over from the blocks of the rules that it stands for.
package struct SummaryBlock: Hashable, Sendable {
    /// Only rules whose blocks meet it count, and without any there is no block.
    package let of: Condition?
    /// Only rules that show something count.
    package let isOfShownRules: Bool
    package let members: [Member]

    package struct Member: Hashable, Sendable {
        package let path: KeyPath
        /// Its value as JSON, whatever the rules say.
        package let always: String?
        /// The value where the rules' blocks differ; nil: the key is left out.
        package let differing: String?
        /// The value where some rule's block lacks the key.
        package let unlessAll: Choice
        /// The value where no event is more urgent than low.
        package let quiet: Choice
    }

    /// What a member becomes in a case that the document names or does not name.
    package enum Choice: Hashable, Sendable {
        case unnamed
        case leftOut
        case json(String)

        fileprivate init(_ reader: DescriptionReader?) {
            switch reader?.value {
            case nil: self = .unnamed
            case .null?: self = .leftOut
            case let value?: self = .json(value.json)
            }
        }
    }

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("of", "shown", "members")
        of = try members["of"].map { try Condition($0) }
        isOfShownRules = try members["shown"]?.flag() ?? false
        self.members = try members.required("members", of: reader).list().map { reader in
            let members = try reader.members("key", "always", "differing", "unless_all", "quiet")
            return Member(
                path: try members.required("key", of: reader).keyPath(),
                always: members["always"]?.value.json,
                differing: members["differing"]?.value.json,
                unlessAll: Choice(members["unless_all"]),
                quiet: Choice(members["quiet"])
            )
        }
    }
}

extension JSONValue {
    /// The value as compact JSON text.
    package var json: String {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .number(let digits): digits
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .object(let object):
            "{" + object.members.map { Self.quoted($0.name) + ":" + $0.value.json }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case let scalar where scalar.value < 0x20 || scalar.value == 0x7F:
                quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
