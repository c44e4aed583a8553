/// A JSON object whose names are all different: ``JSONReader`` refuses any other.
struct JSONObject: Hashable, Sendable {
    struct Member: Hashable, Sendable {
        var name: String
        var value: JSONValue
    }

    var members: [Member]

    /// The value of that name; nil when there is none or it is `null`, which many clients write for "not set".
    subscript(name: String) -> JSONValue? {
        guard let value = members.first(where: { $0.name == name })?.value, value != .null else { return nil }
        return value
    }
}
