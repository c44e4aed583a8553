import ASCII
import FoundationEssentials

/// A proxy that all requests go through. Has no description: its URL may hold a password.
package struct Proxy: Sendable {
    enum Scheme: String, CaseIterable {
        case http, https, socks4, socks4a, socks5, socks5h
    }

    let scheme: Scheme
    package let host: String
    package let port: Int
    /// The URL as the operator wrote it, for libcurl.
    let url: String
    /// The value of Proxy-Authorization (RFC 7617), when the URL names a user.
    let authorization: String?

    /// Reads `scheme://[user:password@]host:port`, with special characters of user and password percent-encoded; nil
    /// for anything else.
    package init?(_ url: String) {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://"),
            let scheme = Scheme(rawValue: url[..<colon].lowercased())
        else { return nil }
        var rest = url[colon...].dropFirst(3)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let at = rest.lastIndex(of: "@") {
            guard let decoded = Self.decoded(rest[..<at].utf8), !decoded.isEmpty else { return nil }
            let credentials = decoded.contains(UInt8(ascii: ":")) ? decoded : decoded + [UInt8(ascii: ":")]
            authorization = "Basic " + Data(credentials).base64EncodedString()
            rest = rest[rest.index(after: at)...]
        } else {
            authorization = nil
        }
        let bytes = Array(rest.utf8)
        guard let last = bytes.last, last.isASCIIDigit,
            let portColon = bytes.lastIndex(of: UInt8(ascii: ":")),
            // The colons of an IPv6 address stand between brackets.
            bytes[portColon...].dropFirst().allSatisfy(\.isASCIIDigit),
            let origin = bytes.withUnsafeBufferPointer({ Origin(isSecure: false, authority: $0[...]) })
        else { return nil }
        self.scheme = scheme
        self.url = url
        host = origin.host
        port = Int(origin.port)
    }

    /// The form of a proxy's URL, for error messages.
    package static let form =
        "http://host:port or http://user:password@host:port, with %40 for an @ in the password; instead of http also https, "
        + "socks4, socks4a, socks5 or socks5h"

    /// Whether HTTP/2 connections can go through it: by CONNECT (RFC 9110, section 9.3.6), over a plain connection to
    /// the proxy.
    package var canTunnel: Bool { scheme == .http }

    /// Percent-decoded; nil where a character should have been encoded.
    private static func decoded(_ text: Substring.UTF8View) -> [UInt8]? {
        guard text.allSatisfy({ $0.isVisibleASCII && !$0.isOne(of: "/?#@") }),
            let decoded = PercentEncoding.decode(text)
        else { return nil }
        return decoded.contains { $0 < 0x20 || $0 == 0x7f } ? nil : decoded
    }
}
