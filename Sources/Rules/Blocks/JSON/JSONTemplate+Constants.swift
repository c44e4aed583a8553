extension JSONTemplate {
    static func constant(_ write: (inout RenderedJSON) -> Void) -> JSONTemplate {
        var json = RenderedJSON()
        write(&json)
        return .constant(json.bytes)
    }

    static func literal(_ text: String) -> JSONTemplate {
        constant { $0.append(quoted: text) }
    }

    static func literal(_ number: Int) -> JSONTemplate {
        constant { $0.append(Int64(number)) }
    }

    /// An object of these members, written once and for all when each of them is.
    static func joined(_ members: [Member]) -> JSONTemplate {
        var json = RenderedJSON()
        json.append("{")
        for (index, member) in members.enumerated() {
            guard case .constant(let bytes) = member.value else { return .object(members) }
            if index > 0 { json.append(",") }
            json.append(quoted: member.key)
            json.append(":")
            json.append(json: bytes)
        }
        json.append("}")
        return .constant(json.bytes)
    }

    /// A list of these elements, written once and for all when each of them is.
    static func joined(_ elements: [JSONTemplate], areRequired: Bool = false) -> JSONTemplate {
        var json = RenderedJSON()
        json.append("[")
        for (index, element) in elements.enumerated() {
            guard case .constant(let bytes) = element else { return .list(elements, isComplete: areRequired) }
            if index > 0 { json.append(",") }
            json.append(json: bytes)
        }
        json.append("]")
        return .constant(json.bytes)
    }
}
