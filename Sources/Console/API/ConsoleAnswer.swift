import Cipher
import HTTPListening

/// What the API answers: a status, and a body which is JSON but for metrics, pages and streams.
package struct ConsoleAnswer: Sendable {
    package var status: Int
    package var body: String
    /// In place of `body`.
    private(set) var live: (any LiveBody)?
    package var contentType = "application/json"
    /// Further header fields.
    package var fields: [String: String] = [:]

    /// `body` is JSON.
    package init(status: Int = 200, body: String) {
        self.status = status
        self.body = body
    }

    package init(live body: any LiveBody, contentType: String) {
        self.init(body: "")
        live = body
        self.contentType = contentType
        // Proxies gather answers unless they are told not to.
        fields = ["cache-control": "no-store", "x-accel-buffering": "no"]
    }

    package static func metrics(_ families: [MetricFamily]) -> ConsoleAnswer {
        var answer = ConsoleAnswer(body: Exposition.text(of: families))
        answer.contentType = Exposition.contentType
        return answer
    }

    /// A problem as RFC 9457 has it, or as it was told before there were versions: `{"error": …}`.
    init(_ problem: APIProblem, requestID: String, isFormerStyle: Bool) {
        var members: [(name: String, json: String)] =
            isFormerStyle
            ? [("error", JSONText.quoted(problem.detail))]
            : [
                ("type", "\"about:blank\""),
                ("title", JSONText.quoted(Self.titles[problem.status] ?? "Problem")),
                ("status", "\(problem.status)"), ("detail", JSONText.quoted(problem.detail)),
                ("request_id", JSONText.quoted(requestID)),
            ]
        if let says = problem.says, !isFormerStyle { members.append(("says", says.json)) }
        for (name, sentences) in problem.lists.sorted(by: { $0.key < $1.key }) {
            members.append((name, "[\(sentences.map(JSONText.quoted).joined(separator: ","))]"))
        }
        if !problem.mistakes.isEmpty {
            let mistakes = problem.mistakes.map {
                "{\"pointer\":\(JSONText.quoted($0.pointer)),\"detail\":\(JSONText.quoted($0.detail))}"
            }
            members.append(("errors", "[\(mistakes.joined(separator: ","))]"))
        }
        self.init(
            status: problem.status,
            body: "{\(members.map { "\(JSONText.quoted($0.name)):\($0.json)" }.joined(separator: ","))}\n"
        )
        if !isFormerStyle { contentType = "application/problem+json" }
        if let retryAfter = problem.retryAfter { fields["retry-after"] = String(retryAfter) }
        if let allow = problem.allow { fields["allow"] = allow.joined(separator: ", ") }
        if problem.status == 401 { fields["www-authenticate"] = "Bearer" }
    }

    /// The titles of problems: what the statuses that we answer with are called.
    private static let titles = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        409: "Conflict", 413: "Content Too Large", 422: "Unprocessable Content", 429: "Too Many Requests",
        500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
    ]

    /// The tag of its body, by which a client sees whether it has it already.
    var entityTag: String { "\"\(Base64URL.encode(Array(SHA256.hash(Array(body.utf8)).prefix(12))))\"" }
}

/// Text as a JSON string (RFC 8259).
package enum JSONText {
    package static func quoted(_ text: String) -> String {
        // Mostly there is nothing in it that JSON writes otherwise.
        if text.utf8.allSatisfy({ $0 > 0x1F && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            return "\"\(text)\""
        }
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
