/// An absolute `http` or `https` URL that was checked strictly: no user, no fragment, nothing that needs guessing.
public struct HTTPURL: Sendable, Hashable {
    /// `scheme://host[:port]`, as written.
    public let origin: String
    /// The path and query, as written; empty: `/`.
    public let target: String
    /// Whether it is `https`.
    public let isSecure: Bool

    /// Nil when `text` is no such URL (RFC 3986, ASCII only).
    public init?(_ text: String) {
        guard let separator = text.utf8.firstRange(of: "://".utf8) else { return nil }
        switch text[..<separator.lowerBound].lowercased() {
        case "https": isSecure = true
        case "http": isSecure = false
        default: return nil
        }
        let rest = text[separator.upperBound...]
        let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        guard HTTPURL.isAuthority(rest[..<end].utf8), HTTPURL.isTarget(rest[end...].utf8) else { return nil }
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
                host.allSatisfy({ $0.hexDigitValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return false }
        } else {
            if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
                host = text[..<colon]
                port = text[text.index(after: colon)...]
            }
            guard (1...253).contains(host.count), isName(host) || isIPv4Address(host) else { return false }
        }
        guard let port else { return true }
        return port.allSatisfy(isDigit) && UInt16(String(decoding: port, as: UTF8.self)).map { $0 > 0 } == true
    }

    /// What RFC 3986 allows in a path and a query, `%` only before two hex digits.
    private static func isTarget(_ text: Substring.UTF8View) -> Bool {
        var digitsAwaited = 0
        for byte in text {
            if digitsAwaited > 0 {
                guard byte.hexDigitValue != nil else { return false }
                digitsAwaited -= 1
            } else if byte == UInt8(ascii: "%") {
                digitsAwaited = 2
            } else if !isTargetByte(byte) {
                return false
            }
        }
        return digitsAwaited == 0
    }

    private static func isTargetByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "["),
            UInt8(ascii: "\\"), UInt8(ascii: "]"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"),
            UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: (0x21...0x7E).contains(byte)
        }
    }

    /// Labels as RFC 1123 has them, and with underscores. One with a dot at its end is another name for the same host,
    /// and one that ends in a number is an address to some: neither has a place where hosts are told apart.
    private static func isName(_ host: Substring.UTF8View) -> Bool {
        let hyphen = UInt8(ascii: "-")
        let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let areLabels = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
                && label.allSatisfy(isHostByte)
        }
        guard areLabels, let last = labels.last else { return false }
        return !last.allSatisfy(isDigit) && !(last.starts(with: "0x".utf8) || last.starts(with: "0X".utf8))
    }

    private static func isIPv4Address(_ host: Substring.UTF8View) -> Bool {
        let numbers = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return numbers.count == 4
            && numbers.allSatisfy { number in
                (1...3).contains(number.count) && number.allSatisfy(isDigit)
                    && (number.count == 1 || number.first != UInt8(ascii: "0"))
                    && UInt8(String(decoding: number, as: UTF8.self)) != nil
            }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: isDigit(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
