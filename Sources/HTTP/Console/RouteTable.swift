import Core

/// Finds a request's endpoint by method and path: a tree of path segments.
package struct RouteTable: Sendable {
    enum Match: Sendable {
        case endpoint(APIEndpoint, path: [String: String])
        /// The path exists, for these methods.
        case wrongMethod(allow: [String])
        case nothing
    }

    private struct Node: Sendable {
        var literals: [String: Node] = [:]
        /// The node for any segment; none or one.
        var others: [Node] = []
        /// By method.
        var endpoints: [String: APIEndpoint] = [:]

        var methods: [String] {
            let methods = endpoints.keys.sorted()
            return methods.contains("GET") ? ["GET", "HEAD"] + methods.filter { $0 != "GET" } : methods
        }
    }

    private var root = Node()
    /// Nodes of paths without parameters, by the whole path: most requests need no tree walk.
    private var plain: [String: Node] = [:]

    /// Two endpoints with the same method and path are a bug; the first one counts.
    package init(_ endpoints: [APIEndpoint]) {
        for endpoint in endpoints {
            let segments = endpoint.path.split(separator: "/").map(String.init)
            Self.add(endpoint, at: segments[...], to: &root)
        }
        for path in endpoints.map(\.path) where APIEndpoint.names(in: path).isEmpty {
            plain[path] = node(at: path[...])?.node
        }
    }

    private static func add(_ endpoint: APIEndpoint, at path: ArraySlice<String>, to node: inout Node) {
        guard let segment = path.first else {
            if node.endpoints[endpoint.method.rawValue] == nil {
                node.endpoints[endpoint.method.rawValue] = endpoint
            }
            return
        }
        if segment.hasPrefix("{") {
            if node.others.isEmpty { node.others.append(Node()) }
            add(endpoint, at: path.dropFirst(), to: &node.others[0])
        } else {
            add(endpoint, at: path.dropFirst(), to: &node.literals[segment, default: Node()])
        }
    }

    /// `path` has no query.
    func match(_ method: String, _ path: Substring) -> Match {
        guard let (node, values) = node(at: path), !node.endpoints.isEmpty else { return .nothing }
        // A HEAD request is a GET without the body.
        guard let found = node.endpoints[method == "HEAD" ? "GET" : method] else {
            return .wrongMethod(allow: node.methods)
        }
        let names = APIEndpoint.names(in: found.path)
        return .endpoint(found, path: Dictionary(zip(names, values)) { first, _ in first })
    }

    /// The methods for owners at a path, which pages of any origin may use; nil if there are none.
    func methodsForOwners(at path: Substring) -> [String]? {
        guard let (node, _) = node(at: path), node.endpoints.values.contains(where: { $0.access == .owner })
        else { return nil }
        return node.methods
    }

    private func node(at path: Substring) -> (node: Node, values: [String])? {
        if let node = plain[String(path)] { return (node, []) }
        guard path.hasPrefix("/") else { return nil }
        var node = root
        var values: [String] = []
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let decoded = PercentEncoding.decode(part.utf8), !decoded.isEmpty,
                let segment = String(validating: decoded, as: UTF8.self)
            else { return nil }
            if let next = node.literals[segment] {
                node = next
            } else if let next = node.others.first {
                node = next
                values.append(segment)
            } else {
                return nil
            }
        }
        return (node, values)
    }
}

/// The query parameters of a target.
struct QueryString {
    /// By name; the last value of a name counts, invalid percent-encoding is skipped.
    private(set) var parameters: [String: String] = [:]
    /// Whether a parameter was skipped or repeated.
    private(set) var isUnclear = false

    init(_ text: Substring) {
        for pair in text.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(sides[0]), let value = Self.decoded(sides.count > 1 ? sides[1] : "") else {
                isUnclear = true
                continue
            }
            if parameters.updateValue(value, forKey: name) != nil { isUnclear = true }
        }
    }

    private static func decoded(_ text: Substring) -> String? {
        let blanks = text.utf8.lazy.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return PercentEncoding.decode(blanks).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
