/// Why no answer arrived.
package struct HTTPFailure: Error, Sendable, Hashable {
    /// One word of a small fixed set, fit for a metric's label.
    package enum Reason: String, Sendable, CaseIterable {
        case invalidURL = "invalid-url"
        /// The address guard refused where the URL leads.
        case forbiddenAddress = "forbidden-address"
        case unresolved
        case unreachable
        /// TLS failed, for another reason than the certificate.
        case tls
        /// The server's certificate is for other names.
        case tlsName = "tls-name"
        /// Nobody we trust vouches for the server's certificate.
        case tlsUntrusted = "tls-untrusted"
        /// The server's certificate, or one that vouches for it, has expired or is not valid yet.
        case tlsExpired = "tls-expired"
        case timeout
        case closed
        case protocolError = "protocol-error"
        case overloaded
        case shutdown
    }

    package var reason: Reason
    /// False only when the server has provably not seen the request, so that sending it again cannot repeat it.
    package var mayHaveBeenProcessed: Bool

    package init(_ reason: Reason, mayHaveBeenProcessed: Bool) {
        self.reason = reason
        self.mayHaveBeenProcessed = mayHaveBeenProcessed
    }
}
