/// Which relays an operator means: one by its URL, all at a host by its name, or all below a host as `*.example.com`.
package struct RelayPattern: Sendable, Hashable {
    private enum Form: Hashable {
        case url(RelayURL)
        case host(String)
        /// With a dot in front.
        case below(String)
    }

    /// In one spelling.
    package let text: String
    private let form: Form

    /// Nil when `text` is none of these.
    package init?(_ text: String) {
        if text.contains("://") {
            guard let url = RelayURL(text) else { return nil }
            form = .url(url)
            self.text = url.text
            return
        }
        let isBelow = text.hasPrefix("*.")
        let name = isBelow ? String(text.dropFirst(2)) : text
        // As a URL has it, so that there is one spelling.
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

/// Relays that users may name in vain. Looking one up takes as long however many there are.
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
