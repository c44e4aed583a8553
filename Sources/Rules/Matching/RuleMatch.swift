import Nostr
import Push

/// Which events a rule is for: every condition that is given must hold.
///
/// What conditions compare with, such as sets of keys and numbers, is prepared when the file is read. Short lists, which
/// are quicker to search than sets.
struct RuleConditions: Sendable {
    /// Any of these; nil: every kind. ``RuleIndex`` checks it.
    var kinds: Set<UInt16>?
    var relations: [Relation]?
    var signals: [Signal]?
    /// In thousandths of a satoshi; holds for zaps only.
    var zap: ClosedRange<UInt64>?
    /// How many `p` tags the event has.
    var pTags: ClosedRange<Int>?
    /// Whether the recipient's own contact list names the author.
    var isFollowed: Bool?
    /// The device's language is one of these or falls back to one.
    var languages: [LanguageTag]?
    /// Who caused it.
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

    /// Whether there are no conditions, so that no later rule decides anything.
    var isForEverything: Bool { kinds == nil && takesAllOfItsKinds }

    /// Whether there are no conditions besides the kinds.
    var takesAllOfItsKinds: Bool {
        relations == nil && signals == nil && zap == nil && pTags == nil && isFollowed == nil && languages == nil
            && authors == nil && recipients == nil && mentioned == nil && platforms == nil && apps == nil
            && values.isEmpty
    }

    /// If it names no kinds, the only ones that it can match: those with a signal, unless the rule has one, and zaps.
    /// Nil: any.
    func impliedKinds(forSignal named: Signal?) -> Set<UInt16>? {
        if zap != nil { return [Kind.zapReceipt.rawValue] }
        return named == nil || signals != nil ? EventSubject.allKinds : nil
    }
}

/// The conditions of a rule. A class, since rules are asked for each device that an event may wake, and copies would cost
/// more than the answer.
final class RuleMatch: Sendable {
    let conditions: RuleConditions

    init(_ conditions: RuleConditions = RuleConditions()) {
        var conditions = conditions
        // Those with patterns last.
        conditions.values =
            conditions.values.filter { $0.pattern == nil } + conditions.values.filter { $0.pattern != nil }
        self.conditions = conditions
    }

    /// Whether all conditions hold for an event of one of ``RuleConditions/kinds``. Cheap ones come first.
    func holds(for question: borrowing RuleQuestion) -> Bool {
        // Without a known list, the recipient follows nobody.
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

/// The input of a match: an event as it concerns one device of one recipient.
package struct RuleQuestion: Sendable {
    package var event: Event {
        get { facts.event }
        set { facts = EventFacts(newValue) }
    }
    /// The event, and values parsed out of it, shared by all recipients.
    package private(set) var facts: EventFacts
    /// Who caused it: the sender of a zap, else the event's author.
    package var author: PublicKey
    /// Nil if rules are tried without a recipient.
    package var recipient: PublicKey?
    /// How the event relates to the recipient; nil for kinds without such a relation.
    package var relation: Relation?
    /// The match stage's signal; nil for kinds that Carillon does not know.
    package var signal: Signal?
    /// The value of the event's zap in thousandths of a satoshi; nil if it is no zap.
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

    /// The event is parsed for this question alone.
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

    /// A question about an event whose `facts` others read as well.
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
