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
        var parameters: [String: String] = [:]
        for pair in uri[uri.index(after: mark)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1]).replacing("+", with: " ") : ""
            parameters[String(parts[0])] = value.removingPercentEncoding ?? value
        }
        return parameters
    }

    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
