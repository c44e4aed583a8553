import Nostr
import Push

/// The conditions of a rule; all must hold for an event.
///
/// Their values, such as sets of keys and numbers, are prepared when the file is read. Short lists are arrays, which
/// are faster to search than sets.
struct RuleConditions: Sendable {
    /// Any of these; nil means every kind. ``RuleIndex`` checks it.
    var kinds: Set<UInt16>?
    var relations: [Relation]?
    var signals: [Signal]?
    /// In thousandths of a satoshi; only true for zaps.
    var zap: ClosedRange<UInt64>?
    /// The number of the event's `p` tags.
    var pTags: ClosedRange<Int>?
    /// Whether the recipient's own contact list names the author.
    var isFollowed: Bool?
    /// The device's language is one of these or falls back to one.
    var languages: [LanguageTag]?
    /// The person who caused it.
    var authors: Set<PublicKey>?
    var recipients: Set<PublicKey>?
    /// The event's `p` tags name one of these.
    var mentioned: Set<PublicKey>?
    /// The device is on one of these.
    var platforms: [String]?
    /// The device belongs to one of these apps.
    var apps: [String]?
    /// Conditions on content, tags and fields.
    var values: [ValueCondition] = []

    /// Whether there are no conditions, so that later rules are never used.
    var isForEverything: Bool { kinds == nil && takesAllOfItsKinds }

    /// Whether there are no conditions apart from the kinds.
    var takesAllOfItsKinds: Bool {
        relations == nil && signals == nil && zap == nil && pTags == nil && isFollowed == nil && languages == nil
            && authors == nil && recipients == nil && mentioned == nil && platforms == nil && apps == nil
            && values.isEmpty
    }

    /// The only kinds that it can match if it names none: those with a signal, unless the rule has one, and zaps. Nil
    /// means any kind.
    func impliedKinds(forSignal named: Signal?) -> Set<UInt16>? {
        if zap != nil { return [Kind.zapReceipt.rawValue] }
        return named == nil || signals != nil ? EventSubject.allKinds : nil
    }
}

/// The conditions of a rule. It is a class, because rules run for each device of an event, and copies would cost more
/// than the result.
final class RuleMatch: Sendable {
    let conditions: RuleConditions

    init(_ conditions: RuleConditions = RuleConditions()) {
        var conditions = conditions
        // Conditions with patterns come last.
        conditions.values =
            conditions.values.filter { $0.pattern == nil } + conditions.values.filter { $0.pattern != nil }
        self.conditions = conditions
    }

    /// Whether all conditions hold for an event of one of ``RuleConditions/kinds``. Cheap ones come first.
    func holds(for question: borrowing RuleQuestion) -> Bool {
        // Without a known list, the recipient follows no one.
        if let isFollowed = conditions.isFollowed, (question.isAuthorFollowed ?? false) != isFollowed { return false }
        if let relations = conditions.relations {
            guard let relation = question.relation, relations.contains(relation) else { return false }
        }
        if let zap = conditions.zap {
            guard let amount = question.zapMillisats, zap.contains(amount) else { return false }
        }
        if let signals = conditions.signals {
            guard let signal = question.signal, signals.contains(signal) else { return false }
        }
        if let languages = conditions.languages {
            guard let language = question.language, languages.contains(where: language.speaks) else { return false }
        }
        if let platforms = conditions.platforms, !platforms.contains(question.platform) { return false }
        if let apps = conditions.apps, !apps.contains(question.app) { return false }
        if let authors = conditions.authors, !authors.contains(question.author) { return false }
        if let recipients = conditions.recipients {
            guard let recipient = question.recipient, recipients.contains(recipient) else { return false }
        }
        if let mentioned = conditions.mentioned {
            guard question.facts.mentionedKeys.contains(where: mentioned.contains) else { return false }
        }
        if let pTags = conditions.pTags, !pTags.contains(question.event.tags.count { $0.first == "p" }) { return false }
        for value in conditions.values where !value.holds(for: question) { return false }
        return true
    }
}

/// The input of a match: an event in relation to one device of one recipient.
package struct RuleQuestion: Sendable {
    package var event: Event {
        get { facts.event }
        set { facts = EventFacts(newValue) }
    }
    /// The event, and values parsed out of it, shared by all recipients.
    package private(set) var facts: EventFacts
    /// The person who caused it: the sender of a zap, or else the event's author.
    package var author: PublicKey
    /// Nil if rules are tested without a recipient.
    package var recipient: PublicKey?
    /// How the event relates to the recipient; nil for kinds without such a relation.
    package var relation: Relation?
    /// The match stage's signal; nil for kinds unknown to Carillon.
    package var signal: Signal?
    /// The value of the event's zap in thousandths of a satoshi; nil for other events.
    package var zapMillisats: UInt64?
    /// The device's language, or the nearest one in the rules; nil if it is unknown. Only used if
    /// ``RuleBook/asksForLanguage``.
    package var language: LanguageTag?
    /// Whether the recipient's own contact list names the author; nil if that list is unknown. Only used if
    /// ``RuleBook/asksForFollows``.
    package var isAuthorFollowed: Bool?
    /// The device's platform. Only used if ``RuleBook/asksForPlatform``.
    package var platform = ""
    /// The device's app. Only used if ``RuleBook/asksForApp``.
    package var app = ""

    /// Creates a question that does not share the event's parsed values.
    package init(
        event: Event,
        author: PublicKey? = nil,
        recipient: PublicKey? = nil,
        relation: Relation? = nil,
        signal: Signal? = nil,
        zapMillisats: UInt64? = nil
    ) {
        self.init(
            facts: EventFacts(event),
            author: author ?? event.pubkey,
            recipient: recipient,
            relation: relation,
            signal: signal,
            zapMillisats: zapMillisats
        )
    }

    /// Creates a question that shares `facts` with others.
    package init(
        facts: EventFacts,
        author: PublicKey,
        recipient: PublicKey?,
        relation: Relation?,
        signal: Signal?,
        zapMillisats: UInt64?
    ) {
        self.facts = facts
        self.author = author
        self.recipient = recipient
        self.relation = relation
        self.signal = signal
        self.zapMillisats = zapMillisats
    }
}

extension LanguageTag {
    /// Whether people of this language read `other`: it is the same, or one of ``fallbacks``.
    func speaks(_ other: LanguageTag) -> Bool {
        self == other || fallbacks.contains(other)
    }
}
