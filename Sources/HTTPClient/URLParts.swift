import Core

/// The parts of an absolute `http` or `https` URL that a connection needs.
///
/// Parsed strictly by RFC 3986 in ASCII: no user information, no repairs, and no spelling of a host that two parsers
/// could read differently (`http://2130706433/`, `http://0177.0.0.1/`). The fragment is dropped, because it is never
/// sent.
package struct URLParts: Sendable, Hashable {
    package let origin: Origin
    /// Path and query as sent, at least `/`.
    package let target: String

    /// Nil if `url` is malformed, carries user information or has another scheme.
    package init?(_ url: String) {
        guard
            let parsed = url.utf8.withContiguousStorageIfAvailable(Self.parse)
                ?? Array(url.utf8).withUnsafeBufferPointer(Self.parse)
        else { return nil }
        self = parsed
    }

    /// The URL rebuilt from its parts, so that other parsers read it the same way.
    package var normalized: String {
        "\(origin.isSecure ? "https" : "http")://\(origin.authority)\(target)"
    }

    private init(origin: Origin, target: String) {
        self.origin = origin
        self.target = target
    }

    private static func parse(_ url: UnsafeBufferPointer<UInt8>) -> URLParts? {
        guard url.count <= maximumLength else { return nil }
        let isSecure: Bool
        var rest = url[...]
        if hasScheme("https://", rest) {
            isSecure = true
            rest = rest.dropFirst(8)
        } else if hasScheme("http://", rest) {
            isSecure = false
            rest = rest.dropFirst(7)
        } else {
            return nil
        }
        let authorityEnd = rest.firstIndex { $0 == slash || $0 == questionMark || $0 == hash } ?? rest.endIndex
        guard
            let origin = Origin(isSecure: isSecure, authority: rest[..<authorityEnd]),
            let target = target(rest[authorityEnd...])
        else { return nil }
        return URLParts(origin: origin, target: target)
    }

    private static func hasScheme(_ scheme: StaticString, _ url: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        scheme.withUTF8Buffer { expected in
            url.count >= expected.count
                && zip(url, expected).allSatisfy { $0.lowercasedASCII == $1 }
        }
    }

    private static func target(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        let sent = bytes.prefix { $0 != hash }
        guard PercentEncoding.isTarget(sent) else { return nil }
        let text = String(decoding: sent, as: UTF8.self)
        return sent.first == slash ? text : "/" + text
    }

    static let maximumLength = 8_192
    private static let slash = UInt8(ascii: "/")
    private static let questionMark = UInt8(ascii: "?")
    private static let hash = UInt8(ascii: "#")
}

/// Scheme, host and port (RFC 6454): the key for connections.
package struct Origin: Sendable, Hashable {
    package let isSecure: Bool
    /// A name in lower case, or an IP address without brackets in its canonical spelling (RFC 5952).
    package let host: String
    package let port: UInt16
    /// The host as an address, if it is one.
    package let address: IPAddress?

    /// Host and, unless it is the scheme's default, port, as in a URL and in `:authority`.
    package let authority: String

    /// A host outside a URL: a name, or an address; IPv6 without brackets.
    package init?(host: String, port: UInt16) {
        let authority = Array((host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)").utf8)
        guard let origin = authority.withUnsafeBufferPointer({ Origin(isSecure: true, authority: $0[...]) }) else {
            return nil
        }
        self = origin
    }

    init?(isSecure: Bool, authority: Slice<UnsafeBufferPointer<UInt8>>) {
        let hostBytes: Slice<UnsafeBufferPointer<UInt8>>
        let rest: Slice<UnsafeBufferPointer<UInt8>>
        if authority.first == UInt8(ascii: "[") {
            guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let host = String(decoding: authority[authority.startIndex..<end].dropFirst(), as: UTF8.self).lowercased()
            guard let address = IPAddress(host), case .v6 = address else { return nil }
            self.host = address.text
            self.address = address
            rest = authority[end...].dropFirst()
        } else {
            let end = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
            hostBytes = authority[..<end]
            guard Self.isName(hostBytes) else { return nil }
            let host = Self.lowercased(hostBytes)
            self.host = host
            if Self.endsInNumber(hostBytes) {
                guard let address = IPAddress(host) else { return nil }
                self.address = address
            } else {
                self.address = nil
            }
            rest = authority[end...]
        }
        self.isSecure = isSecure
        if rest.isEmpty {
            self.port = isSecure ? 443 : 80
        } else {
            guard rest.first == UInt8(ascii: ":"), let port = Self.port(rest.dropFirst()) else { return nil }
            self.port = port
        }
        let bracketed = if case .v6 = address { "[" + host + "]" } else { host }
        self.authority = port == (isSecure ? 443 : 80) ? bracketed : bracketed + ":" + String(port)
    }

    package static func == (one: Origin, other: Origin) -> Bool {
        one.port == other.port && one.isSecure == other.isSecure && one.host == other.host
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
        hasher.combine(isSecure)
    }

    private static func port(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt16? {
        guard (1...5).contains(digits.count), digits.allSatisfy(\.isASCIIDigit) else { return nil }
        let number = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return (1...65_535).contains(number) ? UInt16(number) : nil
    }

    /// RFC 1123 names, and underscores, which some resolvers allow.
    private static func isName(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard (1...253).contains(bytes.count) else { return false }
        var labelLength = 0
        var last = UInt8(ascii: ".")
        for byte in bytes {
            if byte == UInt8(ascii: ".") {
                guard (1...63).contains(labelLength), last != UInt8(ascii: "-") else { return false }
                labelLength = 0
            } else {
                let isInner = labelLength > 0 && byte == UInt8(ascii: "-")
                guard byte.isASCIILetterOrDigit || byte == UInt8(ascii: "_") || isInner else { return false }
                labelLength += 1
            }
            last = byte
        }
        return (1...63).contains(labelLength) && last != UInt8(ascii: "-")
    }

    /// Whether other parsers may take the host for a number: its last label is decimal, or hexadecimal with `0x`.
    private static func endsInNumber(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let start = bytes.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? bytes.startIndex
        let last = bytes[start...]
        if last.allSatisfy(\.isASCIIDigit) { return true }
        let second = last.dropFirst().first
        return last.first == UInt8(ascii: "0") && (second == UInt8(ascii: "x") || second == UInt8(ascii: "X"))
    }

    private static func lowercased(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        String(unsafeUninitializedCapacity: bytes.count) { lower in
            for (index, byte) in bytes.enumerated() {
                lower[index] = byte.lowercasedASCII
            }
            return bytes.count
        }
    }
}
