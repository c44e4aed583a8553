/// What a lane needs of an absolute `http` or `https` URL.
///
/// Read strictly by RFC 3986 in ASCII: no user information, no repairs, and no spelling of a host that two parsers could
/// read differently (`http://2130706433/`, `http://0177.0.0.1/`). A fragment is dropped, as it is never sent.
package struct URLParts: Sendable, Hashable {
    package let origin: Origin
    /// Path and query as they go on the wire, at least `/`.
    package let target: String

    /// Nil when `url` is malformed, carries user information or names another scheme.
    package init?(_ url: String) {
        guard
            let parsed = url.utf8.withContiguousStorageIfAvailable(Self.parse)
                ?? Array(url.utf8).withUnsafeBufferPointer(Self.parse)
        else { return nil }
        self = parsed
    }

    private init(origin: Origin, target: String) {
        self.origin = origin
        self.target = target
    }

    /// The URL spelled anew, so that whoever parses it next finds nothing to interpret.
    package var normalized: String {
        "\(origin.isSecure ? "https" : "http")://\(origin.authority)\(target)"
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
                && zip(url, expected).allSatisfy { $0 == $1 || ($0 &+ 0x20 == $1 && (0x41...0x5a).contains($0)) }
        }
    }

    private static func target(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        let sent = bytes.prefix { $0 != hash }
        var expectedHexDigits = 0
        for byte in sent {
            if expectedHexDigits > 0 {
                guard isHexDigit(byte) else { return nil }
                expectedHexDigits -= 1
            } else if byte == percent {
                expectedHexDigits = 2
            } else if !isAllowedInTarget(byte) {
                return nil
            }
        }
        guard expectedHexDigits == 0 else { return nil }
        let text = String(decoding: sent, as: UTF8.self)
        return sent.first == slash ? text : "/" + text
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    private static func isAllowedInTarget(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"),
            UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"), UInt8(ascii: "["),
            UInt8(ascii: "]"):
            false
        default:
            (0x21...0x7e).contains(byte)
        }
    }

    private static let maximumLength = 8_192
    private static let slash = UInt8(ascii: "/")
    private static let questionMark = UInt8(ascii: "?")
    private static let hash = UInt8(ascii: "#")
    private static let percent = UInt8(ascii: "%")
}
