import Foundation

/// One HTTP/1.1 request, read whole.
struct HTTP1Request: Sendable {
    var method: String
    /// As the client wrote it, with its query.
    var uri: String
    /// Names in lower case.
    var headers: [LabHeader]
    var body: [UInt8]
    /// The body went on beyond what the lab reads.
    var isCut: Bool
    /// The connection it came over.
    var connection: Int

    /// Without the query.
    var path: String {
        String(uri.prefix { $0 != "?" })
    }

    /// Of several parameters with one name, the last.
    var query: [String: String] {
        guard let mark = uri.firstIndex(of: "?") else { return [:] }
        return Self.parameters(of: String(uri[uri.index(after: mark)...]))
    }

    /// Of a query or a form.
    static func parameters(of text: String) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1]).replacing("+", with: " ") : ""
            parameters[String(parts[0])] = value.removingPercentEncoding ?? value
        }
        return parameters
    }

    /// As the client knows the server, whose own name for itself is `known`: by name or by address, or by one of the `names`
    /// that it has for clients behind a proxy.
    func origin(or known: String, named names: [String] = []) -> String {
        if let host = header("host"), names.contains(host) { return "https://\(host)" }
        let parts = known.components(separatedBy: "://localhost:")
        guard parts.count == 2, let host = header("host"), host == "127.0.0.1:\(parts[1])" else { return known }
        return "\(parts[0])://\(host)"
    }

    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
