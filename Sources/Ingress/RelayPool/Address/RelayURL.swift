import HTTPLanes

/// Where a relay is, in one spelling, so that a relay that many users name is one relay.
package struct RelayURL: Sendable, Hashable, Comparable {
    /// As `wss://relay.example.com` or `wss://relay.example.com/path`.
    package let text: String
    package let origin: Origin

    /// Nil when `text` is no `ws` or `wss` URL as RFC 3986 has it, carries user information or is longer than 256 bytes.
    package init?(_ text: String) {
        let lower = text.prefix(6).lowercased()
        guard text.utf8.count <= 256, lower.hasPrefix("ws://") || lower == "wss://",
            let parts = URLParts("http" + text.dropFirst(2))
        else { return nil }
        origin = parts.origin
        let path = parts.target == "/" ? "" : parts.target
        self.text = "\(parts.origin.isSecure ? "wss" : "ws")://\(parts.origin.authority)\(path)"
    }

    package static func == (one: RelayURL, other: RelayURL) -> Bool { one.text == other.text }

    package static func < (one: RelayURL, other: RelayURL) -> Bool { one.text < other.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
