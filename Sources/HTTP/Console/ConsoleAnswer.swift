import Cipher
import Core
import JSON
import Listeners
import NIOCore
import Synchronization

/// A response of the API: a status and a body, which is JSON except for metrics, pages and streams.
package struct ConsoleAnswer: Sendable {
    package var status: Int
    package var body: String
    /// A streamed body, sent instead of `body`.
    private(set) var live: (any LiveBody)?
    package var contentType = "application/json"
    /// More header fields.
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
        // Stops proxies from buffering the stream.
        fields = ["cache-control": "no-store", "x-accel-buffering": "no"]
    }

    package static func metrics(_ families: [MetricFamily]) -> ConsoleAnswer {
        var answer = ConsoleAnswer(body: Exposition.text(of: families))
        answer.contentType = Exposition.contentType
        return answer
    }

    /// An RFC 9457 problem.
    init(_ problem: APIError, requestID: String) {
        var members: [(name: String, json: String)] = [
            ("type", "\"about:blank\""),
            ("title", JSONText.quoted(Self.titles[problem.status] ?? "Problem")),
            ("status", "\(problem.status)"), ("detail", JSONText.quoted(problem.detail)),
            ("request_id", JSONText.quoted(requestID)),
        ]
        if let says = problem.says { members.append(("says", says.json)) }
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
        contentType = "application/problem+json"
        if let retryAfter = problem.retryAfter { fields["retry-after"] = String(retryAfter) }
        if let allow = problem.allow { fields["allow"] = allow.joined(separator: ", ") }
        if problem.status == 401 { fields["www-authenticate"] = "Bearer" }
    }

    /// Titles of the statuses that we send.
    private static let titles = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        409: "Conflict", 413: "Content Too Large", 422: "Unprocessable Content", 429: "Too Many Requests",
        500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
    ]

    /// The ETag of its body.
    var entityTag: String { "\"\(Base64URL.encode(Array(SHA256.hash(Array(body.utf8)).prefix(12))))\"" }
}

/// A live body that ends with the client's permission: its token may expire or be revoked while it reads.
final class GuardedBody: LiveBody {
    /// The interval of checks, which are cheap, but not free.
    private static let pause: Duration = .seconds(10)

    private let body: any LiveBody
    private let isAllowed: @Sendable () -> Bool
    private let now: @Sendable () -> Timestamp
    private let askedAt: Mutex<Timestamp>

    init(_ body: any LiveBody, now: @escaping @Sendable () -> Timestamp, isAllowed: @escaping @Sendable () -> Bool) {
        self.body = body
        self.isAllowed = isAllowed
        self.now = now
        askedAt = Mutex(now())
    }

    func next() async -> ByteBuffer? {
        guard let part = await body.next() else { return nil }
        let now = now()
        let mustAsk = askedAt.withLock { askedAt in
            // A clock that was set back must not stop the checks.
            guard now - askedAt >= Self.pause || now < askedAt else { return false }
            askedAt = now
            return true
        }
        guard !mustAsk || isAllowed() else {
            body.end()
            return nil
        }
        return part
    }

    func end() { body.end() }
}

/// A message as a code and values, for programs and for translations.
package struct Statement: Codable, Hashable, Sendable {
    /// A code of an extensible set: codes may be added, but never removed.
    package var code: String
    /// The sentence's values by name. Names that end in `at`, `until` or `since` are times: RFC 3339, in UTC.
    package var values: [String: String]

    package init(_ code: String, _ values: [String: String] = [:]) {
        self.code = code
        self.values = values
    }

    /// Its JSON, for hand-written responses.
    package var json: String {
        let members = values.sorted { $0.key < $1.key }.map {
            "\(JSONText.quoted($0.key)):\(JSONText.quoted($0.value))"
        }
        return "{\"code\":\(JSONText.quoted(code)),\"values\":{\(members.joined(separator: ","))}}"
    }
}

/// An English sentence with its code and values.
package struct Sentence: Hashable, Sendable, CustomStringConvertible {
    package let words: String
    package let says: Statement

    package var description: String { words }

    package init(_ code: String, _ values: [String: String], _ words: String) {
        self.words = words
        says = Statement(code, values)
    }

    package init(_ code: String, _ words: String) { self.init(code, [:], words) }
}
