/// Another event, as an `e` or `q` tag names it (NIP-01, NIP-10).
package struct EventReference: Hashable, Sendable {
    package let id: EventID
    /// Where it may be found; unchecked.
    package let relay: String?
    /// Who is said to have written it.
    package let author: PublicKey?

    package init(id: EventID, relay: String? = nil, author: PublicKey? = nil) {
        self.id = id
        self.relay = relay
        self.author = author
    }

    /// Reads a tag whose first value is an id, whose second may be a relay, and which names the author at
    /// `authorIndex`.
    init?(tag: [String], authorIndex: Int) {
        guard tag.count > 1, let id = EventID(hex: tag[1]) else { return nil }
        self.id = id
        self.relay = tag.count > 2 && !tag[2].isEmpty ? tag[2] : nil
        self.author = tag.count > authorIndex ? PublicKey(hex: tag[authorIndex]) : nil
    }
}
