import Nostr

/// The event that another one reacts to, reposts or answers. The id stands in the tag and is always known; the rest only
/// when the event itself is.
package struct ReferencedEvent: Sendable, Hashable {
    package var id: EventID
    package var kind: Kind?
    package var content: String?
    package var author: PublicKey?
    /// The author's name, or what stands in for one.
    package var authorName: String?

    package init(
        id: EventID,
        kind: Kind? = nil,
        content: String? = nil,
        author: PublicKey? = nil,
        authorName: String? = nil
    ) {
        self.id = id
        self.kind = kind
        self.content = content
        self.author = author
        self.authorName = authorName
    }
}
