/// An absolute `http` or `https` URL, strictly validated: no user, no fragment, no ambiguous host. The `origin` of
/// `HTTPURL("https://push.example.com/up?x=1")` is `https://push.example.com`, its `target` is `/up?x=1`.
public struct HTTPURL: Sendable, Hashable {
    /// `scheme://host[:port]`, as written.
    public let origin: String
    /// The path and query, as written; empty: `/`.
    public let target: String
    /// Whether it is `https`.
    public let isSecure: Bool

    /// Returns nil if `text` is not such a URL (RFC 3986, ASCII only).
    public init?(_ text: String) {
        // Scans bytes: this runs for each delivery, and a substring search costs more than all the rest here.
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let scheme = bytes[..<colon].lazy.map { $0 | 0x20 }
        switch scheme.count {
        case 5 where scheme.elementsEqual("https".utf8): isSecure = true
        case 4 where scheme.elementsEqual("http".utf8): isSecure = false
        default: return nil
        }
        let rest = text[bytes.index(colon, offsetBy: 3)...]
        let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        guard HTTPURL.isAuthority(rest[..<end].utf8), PercentEncoding.isTarget(rest[end...].utf8) else { return nil }
        origin = String(text[..<end])
        target = String(rest[end...])
    }

    private static func isAuthority(_ text: Substring.UTF8View) -> Bool {
        var host = text[...]
        var port: Substring.UTF8View?
        if text.first == UInt8(ascii: "[") {
            guard let bracket = text.firstIndex(of: UInt8(ascii: "]")) else { return false }
            host = text[text.index(after: text.startIndex)..<bracket]
            let rest = text[text.index(after: bracket)...]
            guard rest.isEmpty || rest.first == UInt8(ascii: ":") else { return false }
            port = rest.isEmpty ? nil : rest.dropFirst()
            guard host.count >= 2, host.contains(UInt8(ascii: ":")),
                host.allSatisfy({ $0.isASCIIHexDigit || $0.isOne(of: ":.") })
            else { return false }
        } else {
            if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
                host = text[..<colon]
                port = text[text.index(after: colon)...]
            }
            guard (1...253).contains(host.count), isName(host) || isIPv4Address(host) else { return false }
        }
        guard let port else { return true }
        return port.allSatisfy(\.isASCIIDigit) && UInt16(String(decoding: port, as: UTF8.self)).map { $0 > 0 } == true
    }

    /// Whether `host` consists of RFC 1123 labels, in which underscores are allowed too. A trailing dot is rejected
    /// because it names the same host, and a numeric last label because some parsers read it as an address.
    private static func isName(_ host: Substring.UTF8View) -> Bool {
        let hyphen = UInt8(ascii: "-")
        let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let areLabels = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
                && label.allSatisfy { $0.isASCIILetterOrDigit || $0.isOne(of: "-_") }
        }
        guard areLabels, let last = labels.last else { return false }
        return !last.allSatisfy(\.isASCIIDigit) && !(last.starts(with: "0x".utf8) || last.starts(with: "0X".utf8))
    }

    private static func isIPv4Address(_ host: Substring.UTF8View) -> Bool {
        let numbers = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return numbers.count == 4
            && numbers.allSatisfy { number in
                (1...3).contains(number.count) && number.allSatisfy(\.isASCIIDigit)
                    && (number.count == 1 || number.first != UInt8(ascii: "0"))
                    && UInt8(String(decoding: number, as: UTF8.self)) != nil
            }
    }
}
