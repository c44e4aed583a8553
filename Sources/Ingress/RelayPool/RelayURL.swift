import HTTPLanes

/// A relay's address in one spelling, so that a relay that many users name is one relay.
package struct RelayURL: Sendable, Hashable, Comparable {
    private static let maximumLength = 256

    /// As `wss://relay.example.com` or `wss://relay.example.com/path`.
    package let text: String
    package let origin: Origin
    /// A name in lower case or an address, each in one spelling.
    package var host: String { origin.host }
    /// Path and query as they go on the wire, at least `/`.
    let target: String

    /// Nil when `text` is no `ws` or `wss` URL as RFC 3986 has it, carries user information or is longer than 256
    /// bytes.
    ///
    /// Scheme and host become lower case; the scheme's own port, a fragment and slashes at the path's end are left out.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength, Self.hasScheme(text),
            let parts = URLParts("http" + text.dropFirst(2))
        else { return nil }
        let path = Self.withoutSlashes(parts.target)
        origin = parts.origin
        target = path.hasPrefix("/") ? path : "/" + path
        self.text = "\(parts.origin.isSecure ? "wss" : "ws")://\(parts.origin.authority)\(path)"
    }

    /// Where the relay's information document is (NIP-11).
    var informationURL: String { "http" + text.dropFirst(2) }

    package static func == (one: RelayURL, other: RelayURL) -> Bool { one.text == other.text }

    package static func < (one: RelayURL, other: RelayURL) -> Bool { one.text < other.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    private static func hasScheme(_ text: String) -> Bool {
        ["ws://", "wss://"].contains { scheme in
            zip(text.utf8, scheme.utf8).count { $0 == $1 || $0 | 0x20 == $1 } == scheme.utf8.count
        }
    }

    /// A query has no common syntax and stays as it is.
    private static func withoutSlashes(_ target: String) -> String {
        let path = target.prefix { $0 != "?" }
        let end = path.lastIndex { $0 != "/" }.map { path.index(after: $0) } ?? path.startIndex
        return String(path[..<end] + target[path.endIndex...])
    }
}
