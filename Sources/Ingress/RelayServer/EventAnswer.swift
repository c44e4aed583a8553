import Nostr

/// The content of an OK message (NIP-01).
package struct EventAnswer: Sendable, Hashable {
    /// The event's id; nil when the event could not be read that far.
    package var id: EventID?
    package var accepted: Bool
    /// Empty, or a machine-readable prefix, a colon and a sentence.
    package var message: String

    package init(id: EventID?, accepted: Bool, message: String = "") {
        self.id = id
        self.accepted = accepted
        self.message = message
    }
}
