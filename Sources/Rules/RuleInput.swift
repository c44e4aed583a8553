import Nostr
import Notifications

/// What a rule is asked about and what its texts may speak of: an event as it concerns one recipient.
package struct RuleInput: Sendable {
    package var event: Event
    package var recipient: PublicKey
    /// What the match stage takes it for; nil for kinds that Carillon knows nothing about.
    package var signal: Signal?
    package var relation: Relation?
    /// Whose doing it is: the sender of a zap, else the event's author.
    package var author: PublicKey
    /// The author's name, or what stands in for one.
    package var authorName: String
    package var referenced: ReferencedEvent?
    package var zap: ZapReceipt?
    /// What is known of those whom and what the texts mention: names of people, texts of events.
    package var mentioned: [NostrReference: String]
    /// What is read out of the event, shared by all whom it concerns.
    package var facts: EventFacts

    package init(
        event: Event,
        recipient: PublicKey,
        signal: Signal?,
        relation: Relation? = nil,
        author: PublicKey? = nil,
        authorName: String,
        referenced: ReferencedEvent? = nil,
        zap: ZapReceipt? = nil,
        mentioned: [NostrReference: String] = [:],
        facts: EventFacts? = nil
    ) {
        self.event = event
        self.recipient = recipient
        self.signal = signal
        self.relation = relation
        self.author = author ?? event.pubkey
        self.authorName = authorName
        self.referenced = referenced
        self.zap = zap
        self.mentioned = mentioned
        self.facts = facts ?? EventFacts(event)
    }
}

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
