import Nostr
import Notifications

/// What a rule is asked about and what its texts may speak of: an event as it concerns one recipient.
package struct RuleInput: Sendable {
    package var event: Event
    package var recipient: PublicKey
    /// What the match stage takes it for; nil for kinds that Carillon knows nothing about.
    package var signal: Signal?
    package var relation: Relation?
    /// The author's name, or what stands in for one.
    package var authorName: String
    package var referenced: ReferencedEvent?

    package init(
        event: Event,
        recipient: PublicKey,
        signal: Signal?,
        relation: Relation? = nil,
        authorName: String,
        referenced: ReferencedEvent? = nil
    ) {
        self.event = event
        self.recipient = recipient
        self.signal = signal
        self.relation = relation
        self.authorName = authorName
        self.referenced = referenced
    }
}
