import Nostr
import Notifications

/// What the rules are asked: an event as it concerns one device of one recipient.
package struct RuleQuestion: Sendable {
    package var event: Event { didSet { facts = EventFacts(event) } }
    /// What is read out of the event, shared by all who are asked about it.
    package private(set) var facts: EventFacts
    /// Whose doing it is: the sender of a zap, else the event's author.
    package var author: PublicKey
    /// Nil where rules are tried without one.
    package var recipient: PublicKey?
    /// How the event has to do with the recipient; nil for kinds that have no such relation.
    package var relation: Relation?
    /// What the match stage takes the event for; nil for kinds that Carillon knows nothing about.
    package var signal: Signal?
    /// What the event's zap is worth in thousandths of a satoshi; nil: it is no zap.
    package var zapMillisats: UInt64?
    /// The device's language, or the nearest one that the rules speak; nil: it named none. Matters only where
    /// ``RuleBook/asksForLanguage``.
    package var language: LanguageTag?
    /// Whether the recipient's own contact list names the author; nil: nobody knows that list. Matters only where
    /// ``RuleBook/asksForFollows``.
    package var isAuthorFollowed: Bool?
    /// The device's platform. Matters only where ``RuleBook/asksForPlatform``.
    package var platform = ""
    /// The device's app. Matters only where ``RuleBook/asksForApp``.
    package var app = ""

    /// Without `facts` the event is read for this question alone.
    package init(
        event: Event,
        facts: EventFacts? = nil,
        author: PublicKey? = nil,
        recipient: PublicKey? = nil,
        relation: Relation? = nil,
        signal: Signal? = nil,
        zapMillisats: UInt64? = nil,
        language: LanguageTag? = nil,
        isAuthorFollowed: Bool? = nil
    ) {
        self.event = event
        self.facts = facts ?? EventFacts(event)
        self.author = author ?? event.pubkey
        self.recipient = recipient
        self.relation = relation
        self.signal = signal
        self.zapMillisats = zapMillisats
        self.language = language
        self.isAuthorFollowed = isAuthorFollowed
    }
}
