import Nostr
import Notifications

/// What a rule matches and what its texts use: an event as it concerns one recipient.
package struct RuleInput: Sendable {
    package var event: Event {
        get { facts.event }
        set { facts = EventFacts(newValue) }
    }
    package var recipient: PublicKey
    /// The match stage's choice; nil for kinds that Carillon does not know.
    package var signal: Signal?
    package var relation: Relation?
    /// Who caused it: the sender of a zap, else the event's author.
    package var author: PublicKey
    /// The author's name, or a replacement.
    package var authorName: String
    package var referenced: ReferencedEvent?
    package var zap: ZapReceipt?
    /// Names of mentioned people, texts of mentioned events.
    package var mentioned: [NostrReference: String]
    /// The event, and values parsed out of it, shared by all recipients.
    package private(set) var facts: EventFacts

    package init(
        event: Event,
        recipient: PublicKey,
        signal: Signal?,
        relation: Relation? = nil,
        author: PublicKey? = nil,
        authorName: String,
        referenced: ReferencedEvent? = nil,
        zap: ZapReceipt? = nil,
        mentioned: [NostrReference: String] = [:]
    ) {
        self.init(
            facts: EventFacts(event),
            recipient: recipient,
            signal: signal,
            relation: relation,
            author: author ?? event.pubkey,
            authorName: authorName,
            referenced: referenced,
            zap: zap,
            mentioned: mentioned
        )
    }

    /// An event whose `facts` others read as well.
    package init(
        facts: EventFacts,
        recipient: PublicKey,
        signal: Signal?,
        relation: Relation?,
        author: PublicKey,
        authorName: String,
        referenced: ReferencedEvent?,
        zap: ZapReceipt?,
        mentioned: [NostrReference: String]
    ) {
        self.recipient = recipient
        self.signal = signal
        self.relation = relation
        self.author = author
        self.authorName = authorName
        self.referenced = referenced
        self.zap = zap
        self.mentioned = mentioned
        self.facts = facts
    }
}

/// The event that another one reacts to, reposts or answers. Its id is always known from the tag; the rest is known
/// only with the event itself.
package struct ReferencedEvent: Sendable, Hashable {
    package var id: EventID
    package var kind: Kind?
    package var content: String?
    package var author: PublicKey?
    /// The author's name, or a replacement.
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
