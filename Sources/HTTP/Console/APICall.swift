import Cipher
import NIOCore

/// A request to an endpoint, with validated parameters.
package struct APICall: Sendable {
    /// The authenticated client; nil for an unauthenticated one, at a public endpoint.
    package let principal: APIPrincipal?
    private let path: [String: String]
    /// Query parameters by name, undecoded beyond percent-encoding.
    package let query: [String: String]
    /// The header fields that the endpoint declares.
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

    /// The path parameter of that name; empty if there is none.
    package func path(_ name: String) -> String { path[name] ?? "" }

    package func field(_ name: String) -> String? { fields[name] }

    /// The hexadecimal key of the account that signed the request. Throws if no account signed it.
    package var owner: String {
        get throws(APIError) {
            guard case .owner(let key)? = principal else { throw APIError(401, "expected a signed request") }
            return key
        }
    }
}

/// An error response of the API (RFC 9457).
package struct APIError: Error, Sendable, Equatable {
    /// An error at one place of the body.
    package struct FieldError: Sendable, Equatable {
        /// A JSON pointer as a fragment (RFC 6901), as in `#/to/account`.
        package let pointer: String
        package let detail: String

        package init(pointer: String, detail: String) {
            self.pointer = pointer
            self.detail = detail
        }
    }

    package let status: Int
    /// The error and the expected value.
    package let detail: String
    /// The message's code and values for programs; nil: only the text.
    package private(set) var says: Statement?
    /// More lists of sentences, by name.
    package var lists: [String: [String]] = [:]
    package var mistakes: [FieldError] = []
    /// Seconds until the client may retry.
    package var retryAfter: Int64?
    /// The allowed methods, if the request used another one.
    private(set) var allow: [String]?

    package init(
        _ status: Int,
        _ detail: String,
        lists: [String: [String]] = [:],
        mistakes: [FieldError] = [],
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

    static func wrongMethod(allow methods: [String]) -> APIError {
        var problem = APIError(405, "expected one of these methods here: \(methods.joined(separator: ", "))")
        problem.allow = methods
        return problem
    }
}

/// The parts of a request that identify the client.
package struct APIRequestHead: Sendable {
    package let method: String
    /// The undecoded path and query.
    package let target: String
    /// The `Authorization` fields.
    package let authorization: [String]
    /// All values of a field by its lower-case name.
    package let fields: @Sendable (String) -> [String]
    /// The address of the connection, which may be a proxy's.
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

    /// The same head with its body.
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

    /// The credentials of the only `Authorization` field; nil for another scheme, or for several fields.
    package func credentials(_ scheme: String) -> String? {
        guard authorization.count == 1, let value = authorization.first else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
        return String(parts[1])
    }

    /// The value of a cookie; nil if there is none of that name, or several.
    package func cookie(_ name: String) -> String? {
        let values = fields("cookie").flatMap { $0.split(separator: ";") }.compactMap { pair -> Substring? in
            let pair = pair.drop { $0 == " " }
            return pair.hasPrefix(name + "=") ? pair.dropFirst(name.utf8.count + 1) : nil
        }
        return values.count == 1 ? values.first.map(String.init) : nil
    }

    /// Whether the browser reports that one of our pages sent this; nil: no report. `origin` is our origin, such as
    /// `https://push.example.com`; nil: taken from `Host`.
    package func isOfSameSite(origin: String?) -> Bool? {
        if let site = fields("sec-fetch-site").first { return site == "same-origin" || site == "none" }
        guard let claimed = fields("origin").first?.lowercased() else { return nil }
        if let origin { return claimed == origin }
        let host = fields("host").first?.lowercased() ?? ""
        return !host.isEmpty && ["https://\(host)", "http://\(host)"].contains(claimed)
    }
}

/// Identifies the client of a request; returns nil for an unauthenticated one. Called from any thread for each request;
/// must be quick. Throws if the request's credentials are invalid.
package typealias APIAuthenticator = @Sendable (APIRequestHead, APIAccess) throws(APIError) -> APIPrincipal?

/// A secret that grants access to the API.
package struct APIToken: Sendable, Concealed {
    /// The minimum length in bytes; shorter tokens could be guessed.
    package static let leastBytes = 16

    private let bytes: [UInt8]

    /// Returns nil if `text` is too short, or has characters that a header cannot hold (RFC 6750 section 2.1).
    package init?(_ text: String) {
        guard text.utf8.count >= Self.leastBytes, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        bytes = Array(text.utf8)
    }

    /// Makes a token of 256 random bits.
    package static func make(random: RandomBytes) -> String { Base64URL.encode(random(32)) }

    /// Its SHA-256 hash in base64url.
    package var digest: String { Self.digest(of: bytes) }

    /// The same hash of any text. A token has 256 random bits, so a slow hash would add no security.
    package static func digest(of text: String) -> String { digest(of: Array(text.utf8)) }

    private static func digest(of bytes: [UInt8]) -> String { Base64URL.encode(SHA256.hash(bytes)) }

    /// Whether `credentials` are this token; constant-time.
    package func opens(_ credentials: String) -> Bool { ConstantTime.areEqual(Array(credentials.utf8), bytes) }
}
