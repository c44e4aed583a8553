import Nostr

/// What is taken of a list, which its author may have filled as he liked.
enum ListLimits {
    static let devices = 256
    static let relays = 16
    static let relay = 512

    /// The first few that are URLs, each once.
    static func relays(_ urls: [String]) -> [String] {
        var taken: [String] = []
        for url in urls where taken.count < relays && !taken.contains(url) {
            if url.isURL(of: ["wss", "ws"], limit: relay) { taken.append(url) }
        }
        return taken
    }
}
