import Nostr

/// The event that another one reacts to, reposts or answers. The id stands in the tag and is always known; the rest only
/// when the event itself is.
package struct ReferencedEvent: Sendable, Hashable {
    package var id: EventID
    package var kind: Kind?
    package var content: String?

    package init(id: EventID, kind: Kind? = nil, content: String? = nil) {
        self.id = id
        self.kind = kind
        self.content = content
    }
}
