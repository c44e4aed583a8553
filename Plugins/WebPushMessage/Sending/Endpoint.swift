package import PluginKit

/// Where a push service takes messages for one subscription. The URL is the secret.
package struct Endpoint: Sendable {
    package let url: String
    /// As RFC 6454 section 6.1 writes it: lower case, no default port.
    package let origin: String
    /// In lower case, without port.
    package let host: String
    package let isSecure: Bool

    /// Whose it is.
    package var service: PushService { PushService(host: host) }

    /// Nil when the token is no `https` or `http` URL of at most `limit` bytes.
    package init?(_ token: BorrowedText, limit: Int) {
        guard (1...limit).contains(token.count) else { return nil }
        let text = token.string
        guard let url = HTTPURL(text) else { return nil }
        self.url = text
        isSecure = url.isSecure
        let written = url.origin.lowercased()
        let (scheme, defaultPort): (String, UInt16) = isSecure ? ("https://", 443) : ("http://", 80)
        let authority = written.dropFirst(scheme.count)
        if let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[colon...].dropFirst()) {
            host = String(authority[..<colon])
            origin = port == defaultPort ? scheme + host : "\(scheme)\(host):\(port)"
        } else {
            host = String(authority)
            origin = written
        }
    }
}
