import PluginKit

/// Where a browser's push service takes messages for one subscription. The URL is the secret.
struct Endpoint {
    /// In bytes; those of the big services have a few hundred.
    static let limit = 2048

    let url: String
    /// As RFC 6454 section 6.1 writes it: lower case, no default port.
    let origin: String
    /// In lower case, without port.
    let host: Substring

    /// Nil when the token is no `https` URL that a message may go to.
    init?(_ token: BorrowedText) {
        guard (1...Self.limit).contains(token.count) else { return nil }
        let text = token.string
        guard let url = HTTPURL(text), url.isSecure else { return nil }
        self.url = text
        let written = url.origin.lowercased()
        let authority = written.dropFirst("https://".count)
        if let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[colon...].dropFirst()) {
            host = authority[..<colon]
            origin = port == 443 ? "https://\(host)" : "https://\(host):\(port)"
        } else {
            host = authority
            origin = written
        }
    }
}
