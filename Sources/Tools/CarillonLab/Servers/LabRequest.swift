import Foundation

/// One HTTP request, read completely.
struct LabRequest: Sendable {
    var method: String
    /// Unchanged from the client, including the query.
    var uri: String
    /// Names are in lower case; without HTTP/2's pseudo headers.
    var headers: [LabHeader]
    var body: [UInt8]
    /// Whether the body was longer than the lab reads.
    var isCut = false
    /// The number of its connection.
    var connection = 0

    /// The URI without its query.
    var path: String {
        String(uri.prefix { $0 != "?" })
    }

    /// The parameters of the query. The last of several with the same name counts.
    var query: [String: String] {
        guard let mark = uri.firstIndex(of: "?") else { return [:] }
        return Self.parameters(of: String(uri[uri.index(after: mark)...]))
    }

    /// The parameters of a query or a form.
    static func parameters(of text: String) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1]).replacing("+", with: " ") : ""
            parameters[String(parts[0])] = value.removingPercentEncoding ?? value
        }
        return parameters
    }

    /// The server's origin as the client sees it: `known`, the same by address, or one of the `names` for clients
    /// behind a proxy.
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

extension StringProtocol {
    /// Whether the text has only ASCII letters, digits and the characters of `others`, which are ASCII.
    func consistsOfLettersDigits(and others: StaticString) -> Bool {
        let others = UnsafeBufferPointer(start: others.utf8Start, count: others.utf8CodeUnitCount)
        return utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || others.contains(byte)
        }
    }
}

/// A response over either version of HTTP.
struct HTTPAnswer: Sendable {
    var status: Int
    var headers: [LabHeader]
    var body: [UInt8]

    init(status: Int, headers: [LabHeader] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    init(status: Int, contentType: String, _ body: [UInt8]) {
        self.init(status: status, headers: [LabHeader("content-type", contentType)], body: body)
    }

    init(status: Int, json text: String) {
        self.init(status: status, contentType: "application/json", Array((text + "\n").utf8))
    }

    /// In the format of Google's APIs.
    init(status: Int, json: [UInt8]) {
        self.init(status: status, contentType: "application/json; charset=UTF-8", json)
    }

    /// A response of a proxy in front of the service.
    init(htmlWithStatus status: Int) {
        let page =
            "<html><head><title>\(status)</title></head><body><center><h1>\(status)</h1></center><hr></body></html>\r\n"
        self.init(status: status, contentType: "text/html; charset=utf-8", Array(page.utf8))
    }

    /// Applies status, headers and body of an ordered response on top of the service's own format.
    mutating func apply(_ ordered: OrderedAnswer) {
        status = ordered.status
        if let retryAfter = ordered.retryAfter {
            set(LabHeader("retry-after", String(retryAfter)))
        }
        if let text = ordered.body {
            body = Array(text.utf8)
        }
        for header in ordered.headers {
            set(LabHeader(header.name.lowercased(), header.value))
        }
    }

    private mutating func set(_ header: LabHeader) {
        headers.removeAll { $0.name == header.name }
        headers.append(header)
    }
}
