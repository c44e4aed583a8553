import JSON
import Nostr

/// The way to a value inside of JSON: names of members, numbers of a list's elements from 0, with dots between them.
struct JSONPath: Hashable, Sendable {
    static let expectation =
        "expected the names on the way to a field, at most 8, with dots between them, as in order.total"
    private static let depth = 8
    private static let nameLimit = 64

    fileprivate let names: [String]

    init?(_ text: some StringProtocol) {
        let names = String(text).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= Self.depth, names.allSatisfy({ (1...Self.nameLimit).contains($0.utf8.count) }) else {
            return nil
        }
        self.names = names
    }
}

extension JSONValue {
    /// The value at that path; nil when there is none.
    subscript(path: JSONPath) -> JSONValue? {
        path.names.reduce(self as JSONValue?) { value, name in value?[part: name] }
    }

    /// The member of that name, or the element of that number; nil where it is `null`, too.
    subscript(part name: String) -> JSONValue? {
        switch self {
        case .object(let object): return object[name]
        case .array(let elements):
            guard let index = Int(name), elements.indices.contains(index), elements[index] != .null else { return nil }
            return elements[index]
        default: return nil
        }
    }
}
