/// JSON that keeps the order its members were given in, for people to read.
package enum JSONTree: Sendable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case list([JSONTree])
    case object([(key: String, value: JSONTree)])

    package static func texts(_ texts: [String]) -> JSONTree { .list(texts.map(JSONTree.text)) }

    /// Its members; none if it is not an object.
    package var members: [(key: String, value: JSONTree)] {
        guard case .object(let members) = self else { return [] }
        return members
    }

    /// Indented by two spaces a level, with a line break at the end.
    package var prettyPrinted: String {
        var json = RenderedJSON()
        append(to: &json, indentation: 0)
        return json.text + "\n"
    }

    private func append(to json: inout RenderedJSON, indentation: Int) {
        switch self {
        case .text(let text): json.append(quoted: text)
        case .number(let number): json.append(number)
        case .flag(let flag): json.append(flag)
        case .list(let elements):
            Self.append(elements, between: ("[", "]"), to: &json, indentation) { $1.append(to: &$0, indentation: $2) }
        case .object(let members):
            Self.append(members, between: ("{", "}"), to: &json, indentation) { json, member, indentation in
                json.append(quoted: member.key)
                json.append(":")
                json.append(" ")
                member.value.append(to: &json, indentation: indentation)
            }
        }
    }

    private static func append<Element>(
        _ elements: [Element],
        between brackets: (Unicode.Scalar, Unicode.Scalar),
        to json: inout RenderedJSON,
        _ indentation: Int,
        _ append: (inout RenderedJSON, Element, Int) -> Void
    ) {
        json.append(brackets.0)
        for (index, element) in elements.enumerated() {
            if index > 0 { json.append(",") }
            breakLine(in: &json, indentation + 1)
            append(&json, element, indentation + 1)
        }
        if !elements.isEmpty { breakLine(in: &json, indentation) }
        json.append(brackets.1)
    }

    private static func breakLine(in json: inout RenderedJSON, _ indentation: Int) {
        json.append("\n")
        for _ in 0..<indentation * 2 { json.append(" ") }
    }
}

extension JSONTree: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral text: String) { self = .text(text) }
    package init(integerLiteral number: Int) { self = .number(Double(number)) }
    package init(booleanLiteral flag: Bool) { self = .flag(flag) }
}

extension JSONTree: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: JSONTree...) { self = .list(elements) }
    package init(dictionaryLiteral members: (String, JSONTree)...) {
        self = .object(members.map { (key: $0.0, value: $0.1) })
    }
}
