import Nostr
import Notifications

/// What the rules are asked: an event as it concerns one device of one recipient.
package struct RuleQuestion: Sendable {
    package var event: Event
    /// How the event has to do with the recipient; nil for kinds that have no such relation.
    package var relation: Relation?
    /// What the match stage takes the event for; nil for kinds that Carillon knows nothing about.
    package var signal: Signal?
    /// What the event's zap is worth in thousandths of a satoshi; nil: it is no zap.
    package var zapMillisats: UInt64?
    /// The device's language; nil: it named none. Matters only where ``RuleBook/asksForLanguage``.
    package var language: LanguageTag?
    /// Whether the recipient's own contact list names the author; nil: nobody knows that list. Matters only where
    /// ``RuleBook/asksForFollows``.
    package var isAuthorFollowed: Bool?

    package init(
        event: Event,
        relation: Relation? = nil,
        signal: Signal? = nil,
        zapMillisats: UInt64? = nil,
        language: LanguageTag? = nil,
        isAuthorFollowed: Bool? = nil
    ) {
        self.event = event
        self.relation = relation
        self.signal = signal
        self.zapMillisats = zapMillisats
        self.language = language
        self.isAuthorFollowed = isAuthorFollowed
    }
}
