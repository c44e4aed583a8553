/// A JSON object whose names are all different: reading refuses any other.
package struct JSONObject: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONValue
    }

    package var members: [Member]

    /// The value of that name; nil when there is none or it is `null`, which many clients write for "not set".
    package subscript(name: String) -> JSONValue? {
        guard let value = members.first(where: { $0.name == name })?.value, value != .null else { return nil }
        return value
    }
}
