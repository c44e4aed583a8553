import HTTPClient

/// A relay's normalized URL, so that a relay that many users name is one relay.
package struct RelayURL: Sendable, Hashable, Comparable {
    private static let maximumLength = 256

    /// As `wss://relay.example.com` or `wss://relay.example.com/path`.
    package let text: String
    package let origin: Origin
    /// A name in lower case or an address, both normalized.
    package var host: String { origin.host }
    /// Path and query as they are sent, at least `/`.
    let target: String

    /// Nil if `text` is not a valid `ws` or `wss` URL (RFC 3986), has user information or is longer than 256 bytes.
    ///
    /// Scheme and host become lower case; the default port, a fragment and slashes at the path's end are dropped.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength, Self.hasScheme(text),
            let parts = URLParts("http" + text.dropFirst(2))
        else { return nil }
        let path = Self.withoutSlashes(parts.target)
        origin = parts.origin
        target = path.hasPrefix("/") ? path : "/" + path
        self.text = "\(parts.origin.isSecure ? "wss" : "ws")://\(parts.origin.authority)\(path)"
    }

    /// The URL of the relay's information document (NIP-11).
    var informationURL: String { "http" + text.dropFirst(2) }

    package static func == (one: RelayURL, other: RelayURL) -> Bool { one.text == other.text }

    package static func < (one: RelayURL, other: RelayURL) -> Bool { one.text < other.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    private static func hasScheme(_ text: String) -> Bool {
        ["ws://", "wss://"].contains { scheme in
            zip(text.utf8, scheme.utf8).count { $0 == $1 || $0 | 0x20 == $1 } == scheme.utf8.count
        }
    }

    /// A query has no common syntax and is not changed.
    private static func withoutSlashes(_ target: String) -> String {
        let path = target.prefix { $0 != "?" }
        let end = path.lastIndex { $0 != "/" }.map { path.index(after: $0) } ?? path.startIndex
        return String(path[..<end] + target[path.endIndex...])
    }
}

/// A pattern for relays: one by its URL, all at a host by its name, or all below a host as `*.example.com`.
package struct RelayPattern: Sendable, Hashable {
    private enum Form: Hashable {
        case url(RelayURL)
        case host(String)
        /// With a leading dot.
        case below(String)
    }

    /// The normalized text.
    package let text: String
    private let form: Form

    /// Nil if `text` is not such a pattern.
    package init?(_ text: String) {
        if text.contains("://") {
            guard let url = RelayURL(text) else { return nil }
            form = .url(url)
            self.text = url.text
            return
        }
        let isBelow = text.hasPrefix("*.")
        let name = isBelow ? String(text.dropFirst(2)) : text
        // Parsed as part of a URL, so that it is normalized.
        guard !name.isEmpty, !name.contains("*"), let url = RelayURL("wss://" + name), url.target == "/",
            url.text == "wss://" + url.host || url.text == "wss://[\(url.host)]", !isBelow || name.contains(".")
        else { return nil }
        form = isBelow ? .below("." + url.host) : .host(url.host)
        self.text = (isBelow ? "*." : "") + url.host
    }

    package func matches(_ relay: RelayURL) -> Bool {
        switch form {
        case .url(let url): relay == url
        case .host(let host): relay.host == host
        case .below(let end): relay.host.hasSuffix(end)
        }
    }
}

/// Relays that users cannot choose. The time of a look-up does not depend on their number.
package struct BlockedRelays: Sendable, Equatable {
    private let texts: Set<String>
    private let hasWildcards: Bool

    package init(_ patterns: [RelayPattern] = []) {
        texts = Set(patterns.map(\.text))
        hasWildcards = texts.contains { $0.hasPrefix("*.") }
    }

    package var isEmpty: Bool { texts.isEmpty }

    package func contains(_ relay: RelayURL) -> Bool {
        if texts.isEmpty { return false }
        if texts.contains(relay.text) || texts.contains(relay.host) { return true }
        guard hasWildcards else { return false }
        var rest = Substring(relay.host)
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if texts.contains("*." + rest) { return true }
        }
        return false
    }
}
