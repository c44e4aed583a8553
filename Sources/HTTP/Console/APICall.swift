import Cipher
import NIOCore

/// A request to an endpoint, with parameters that are as the endpoint wants them.
package struct APICall: Sendable {
    /// Who asks; nil: a stranger, at an endpoint for everybody.
    package let principal: APIPrincipal?
    private let path: [String: String]
    /// By name, as they were written.
    package let query: [String: String]
    /// The header fields that the endpoint names.
    private let fields: [String: String]
    package let body: ByteBuffer

    package init(
        principal: APIPrincipal?,
        path: [String: String] = [:],
        query: [String: String] = [:],
        fields: [String: String] = [:],
        body: ByteBuffer = ByteBuffer()
    ) {
        self.principal = principal
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
    }

    /// What stands in the path at that name; empty where there is no such name.
    package func path(_ name: String) -> String { path[name] ?? "" }

    package func field(_ name: String) -> String? { fields[name] }

    /// The key of the account that signed the request, in hexadecimal digits. Throws where none did.
    package var owner: String {
        get throws(APIProblem) {
            guard case .owner(let key)? = principal else { throw APIProblem(401, "expected a signed request") }
            return key
        }
    }
}

/// Why the API does not do something (RFC 9457).
package struct APIProblem: Error, Sendable, Equatable {
    /// What is wrong at one place of the body.
    package struct Mistake: Sendable, Equatable {
        /// A JSON pointer as a fragment (RFC 6901), as in `#/to/account`.
        package let pointer: String
        package let detail: String

        package init(pointer: String, detail: String) {
            self.pointer = pointer
            self.detail = detail
        }
    }

    package let status: Int
    /// What is wrong and what was expected.
    package let detail: String
    /// The same for programs; nil: only the words say it.
    package private(set) var says: Statement?
    /// Further lists of sentences, by name.
    package var lists: [String: [String]] = [:]
    package var mistakes: [Mistake] = []
    /// After how many seconds it may be tried again.
    package var retryAfter: Int64?
    /// The methods that there are, where it was the wrong one.
    private(set) var allow: [String]?

    package init(
        _ status: Int,
        _ detail: String,
        lists: [String: [String]] = [:],
        mistakes: [Mistake] = [],
        retryAfter: Int64? = nil
    ) {
        self.status = status
        self.detail = detail
        self.lists = lists
        self.mistakes = mistakes
        self.retryAfter = retryAfter
    }

    package init(_ status: Int, _ sentence: Sentence, lists: [String: [String]] = [:], retryAfter: Int64? = nil) {
        self.init(status, sentence.words, lists: lists, retryAfter: retryAfter)
        says = sentence.says
    }

    static func wrongMethod(allow methods: [String]) -> APIProblem {
        var problem = APIProblem(405, "expected one of these methods here: \(methods.joined(separator: ", "))")
        problem.allow = methods
        return problem
    }
}

/// What a request carries by which it can be told who asks.
package struct APIRequestHead: Sendable {
    package let method: String
    /// The path and the query, as they came.
    package let target: String
    /// The `Authorization` fields.
    package let authorization: [String]
    /// All fields of a name, in lower case.
    package let fields: @Sendable (String) -> [String]
    /// The address of whoever has the connection, which may be a proxy.
    package let peer: String
    package let body: ByteBuffer

    package init(
        method: String,
        target: String,
        authorization: [String],
        fields: @escaping @Sendable (String) -> [String] = { _ in [] },
        peer: String,
        body: ByteBuffer = ByteBuffer()
    ) {
        self.method = method
        self.target = target
        self.authorization = authorization
        self.fields = fields
        self.peer = peer
        self.body = body
    }

    /// The same with its body.
    func with(_ body: ByteBuffer) -> APIRequestHead {
        APIRequestHead(
            method: method,
            target: target,
            authorization: authorization,
            fields: fields,
            peer: peer,
            body: body
        )
    }

    /// What stands behind the scheme of the one `Authorization` field; nil where there is none of that scheme, or
    /// several fields.
    package func credentials(_ scheme: String) -> String? {
        guard authorization.count == 1, let value = authorization.first else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
        return String(parts[1])
    }

    /// The value of a cookie; nil where there is none of that name, or several.
    package func cookie(_ name: String) -> String? {
        let values = fields("cookie").flatMap { $0.split(separator: ";") }.compactMap { pair -> Substring? in
            let pair = pair.drop { $0 == " " }
            return pair.hasPrefix(name + "=") ? pair.dropFirst(name.utf8.count + 1) : nil
        }
        return values.count == 1 ? values.first.map(String.init) : nil
    }

    /// Whether a browser says that a page of ours sent this; nil: nothing says where it came from. `origin` is what
    /// browsers call ours, as in `https://push.example.com`; nil: whatever `Host` says.
    package func isOfSameSite(origin: String?) -> Bool? {
        if let site = fields("sec-fetch-site").first { return site == "same-origin" || site == "none" }
        guard let claimed = fields("origin").first?.lowercased() else { return nil }
        if let origin { return claimed == origin }
        let host = fields("host").first?.lowercased() ?? ""
        return !host.isEmpty && ["https://\(host)", "http://\(host)"].contains(claimed)
    }
}

/// Tells who asks. Called from any thread, for each request; must be quick.
package protocol APIAuthenticator: Sendable {
    /// Nil for a stranger. Throws an ``APIProblem`` that says why a request proves nothing.
    func principal(of head: APIRequestHead, for access: APIAccess) throws(APIProblem) -> APIPrincipal?
}

/// The secret that opens the API.
package struct APIToken: Sendable, Concealed {
    /// A shorter one could be guessed.
    package static let leastBytes = 16

    private let bytes: [UInt8]

    /// Nil when `text` is too short, or holds what a header cannot (RFC 6750 section 2.1).
    package init?(_ text: String) {
        guard text.utf8.count >= Self.leastBytes, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        bytes = Array(text.utf8)
    }

    /// A new one of 256 random bits, as text.
    package static func make(random: RandomBytes) -> String { Base64URL.encode(random(32)) }

    /// SHA-256 of it, in base64url.
    package var digest: String { Self.digest(of: bytes) }

    /// The same of any text. A token has 256 random bits, so that nothing is gained by a slow hash.
    package static func digest(of text: String) -> String { digest(of: Array(text.utf8)) }

    private static func digest(of bytes: [UInt8]) -> String { Base64URL.encode(SHA256.hash(bytes)) }

    /// Whether `credentials` are it. Takes the same time wherever they differ.
    package func opens(_ credentials: String) -> Bool { ConstantTime.areEqual(Array(credentials.utf8), bytes) }
}
