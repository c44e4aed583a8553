import Core

/// One outgoing request. Never logged: the URL and the headers may hold tokens.
package struct HTTPRequest: Sendable {
    package var method: String
    /// Absolute, `https://…` or `http://…`.
    package var url: String
    /// Names in lower case.
    package var headers: HTTPFields
    package var body: [UInt8]
    /// From submission to the last byte of the response.
    package var timeout: Duration
    /// How much of a response's body is kept; the rest is dropped.
    package var maxResponseBytes: ByteCount
    /// Whether the origin is busy: keep HTTP/2 connections to it and send many requests concurrently.
    package var multiplexed: Bool
    /// The URL came from a user: no private addresses, no redirects.
    package var untrustedURL: Bool
    /// Nil: connections are shared with all other requests without a scope.
    package var scope: ConnectionScope?
    /// The account that it is sent for (``HTTPSender/share()``): requests of one account never use up the capacity that
    /// others need.
    package var share: UInt32 = 0

    package init(
        method: String,
        url: String,
        headers: HTTPFields = HTTPFields(),
        body: [UInt8] = [],
        timeout: Duration = .seconds(30),
        maxResponseBytes: ByteCount = .kibibytes(64),
        multiplexed: Bool = false,
        untrustedURL: Bool = false,
        scope: ConnectionScope? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maxResponseBytes = maxResponseBytes
        self.multiplexed = multiplexed
        self.untrustedURL = untrustedURL
        self.scope = scope
    }
}

extension HTTPRequest {
    /// Whether method and headers can be written without changing the message's structure.
    package var isWellFormed: Bool { headers.isWellFormed && FieldForm.isMethod(method) }
}

/// A server's response.
package struct HTTPResponse: Sendable, Hashable {
    package var status: Int
    /// Names in lower case.
    package var headers: HTTPFields
    /// Up to `maxResponseBytes` of the request.
    package var body: [UInt8]

    package init(status: Int, headers: HTTPFields = HTTPFields(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Why a request got no response.
package struct HTTPError: Error, Sendable, Hashable {
    /// One word of a small fixed set, suitable as a metric's label.
    package enum Reason: String, Sendable, CaseIterable {
        case invalidURL = "invalid-url"
        /// The address guard refused the URL's address.
        case forbiddenAddress = "forbidden-address"
        case unresolved
        case unreachable
        /// TLS failed for a reason other than the certificate.
        case tls
        /// The server's certificate is for other names.
        case tlsName = "tls-name"
        /// No trusted authority signed the server's certificate.
        case tlsUntrusted = "tls-untrusted"
        /// The server's certificate or one of its issuers' is expired or not valid yet.
        case tlsExpired = "tls-expired"
        case timeout
        case closed
        case protocolError = "protocol-error"
        case overloaded
        /// The server was slow, and the router needed the transfer's slot for others.
        case evicted
        case shutdown

        /// The cause as a phrase, to be shown after the word.
        package var explanation: String {
            switch self {
            case .invalidURL: "the address is not a valid URL"
            case .forbiddenAddress: "the address is private or reserved; http.allow_private permits networks"
            case .unresolved: "the DNS knows no address for the server's name"
            case .unreachable: "the server refuses connections or cannot be reached"
            case .tls: "the TLS handshake failed"
            case .tlsName: "the server's certificate is for another name"
            case .tlsUntrusted: "no trusted authority signed the server's certificate; http.ca_file adds authorities"
            case .tlsExpired: "the server's certificate has expired or is not valid yet"
            case .timeout: "the server did not respond in time"
            case .closed: "the server closed the connection without a response"
            case .protocolError: "the server's response is not valid HTTP"
            case .overloaded: "too many requests to the server are waiting"
            case .evicted: "the server was slow while requests to other servers waited"
            case .shutdown: "the router was stopping"
            }
        }
    }

    package var reason: Reason
    /// False only if the server has provably not seen the request, so that resending it cannot repeat it.
    package var mayHaveBeenProcessed: Bool

    package init(_ reason: Reason, mayHaveBeenProcessed: Bool) {
        self.reason = reason
        self.mayHaveBeenProcessed = mayHaveBeenProcessed
    }
}

/// Sends outgoing HTTP: over the network, or to a recorder for a dry run.
package protocol HTTPSender: Sendable {
    /// Sends `request` and calls `completion` exactly once, on a thread of the sender and never from inside this call.
    /// Never blocks.
    func send(
        _ request: consuming HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    )

    /// Announces that no more requests of `scope` will come: its connections close once they are idle.
    func retire(_ scope: ConnectionScope)

    /// Returns this sender with a separate account. However many requests of one account are unanswered, others have
    /// capacity: each app on each platform gets its own account.
    func share() -> any HTTPSender
}

extension HTTPSender {
    /// For senders without connections.
    package func retire(_ scope: ConnectionScope) {}

    /// For senders without limits.
    package func share() -> any HTTPSender { self }
}
