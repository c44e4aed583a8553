/// A JSON pointer (RFC 6901) into an object.
public struct JSONPointer: Sendable, Hashable {
    private let names: [String]

    /// Nil for a text that does not begin with `/`.
    public init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        names = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { name in
            name.split(separator: "~1", omittingEmptySubsequences: false).map { part in
                part.split(separator: "~0", omittingEmptySubsequences: false).joined(separator: "~")
            }.joined(separator: "/")
        }
    }

    /// The value that it leads to; nil where there is none.
    public func value(in object: JSONObject) -> JSONValue? {
        var value = object[named: names[0]]
        for name in names.dropFirst() {
            if let elements = value?.elements {
                value = Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            } else {
                value = value?.object?[named: name]
            }
        }
        return value
    }
}
