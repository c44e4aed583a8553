import Nostr
import Notifications

/// Which events a rule is for: every condition that is given must hold.
///
/// A class, since rules are asked for each device that an event may wake, and copies would cost more than the answer.
/// Short lists, which are quicker gone through than sets.
///
/// What conditions compare with, such as sets of keys and numbers, is prepared when the file is read.
final class RuleMatch: Sendable {
    /// Any of these; nil: every kind. ``RuleIndex`` checks it.
    let kinds: Set<UInt16>?
    let relations: [Relation]?
    let signals: [Signal]?
    /// In thousandths of a satoshi; holds for zaps only.
    let zap: ClosedRange<UInt64>?
    /// How many `p` tags the event has.
    let pTags: ClosedRange<Int>?
    /// Whether the recipient's own contact list names the author.
    let isFollowed: Bool?
    /// The device's language is one of these or falls back to one.
    let languages: [LanguageTag]?
    /// Who caused it.
    let authors: Set<PublicKey>?
    let recipients: Set<PublicKey>?
    /// The event's `p` tags name one of these.
    let mentioned: Set<PublicKey>?
    /// The device is on one of these.
    let platforms: [String]?
    /// The device belongs to one of these apps.
    let apps: [String]?
    /// Conditions on content, tags and fields, those with patterns last.
    let values: [ValueCondition]

    init(
        kinds: Set<UInt16>? = nil,
        relations: [Relation]? = nil,
        signals: [Signal]? = nil,
        zap: ClosedRange<UInt64>? = nil,
        pTags: ClosedRange<Int>? = nil,
        isFollowed: Bool? = nil,
        languages: [LanguageTag]? = nil,
        authors: Set<PublicKey>? = nil,
        recipients: Set<PublicKey>? = nil,
        mentioned: Set<PublicKey>? = nil,
        platforms: [String]? = nil,
        apps: [String]? = nil,
        values: [ValueCondition] = []
    ) {
        self.kinds = kinds
        self.relations = relations
        self.signals = signals
        self.zap = zap
        self.pTags = pTags
        self.isFollowed = isFollowed
        self.languages = languages
        self.authors = authors
        self.recipients = recipients
        self.mentioned = mentioned
        self.platforms = platforms
        self.apps = apps
        self.values = values.filter { $0.pattern == nil } + values.filter { $0.pattern != nil }
    }

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
        if zap != nil { return [KnownKinds.zap] }
        return named == nil || signals != nil ? KnownKinds.withSignal : nil
    }

    /// Whether all conditions hold for an event of one of ``kinds``. Cheap ones come first.
    func holds(for question: borrowing RuleQuestion) -> Bool {
        // Without a known list, the recipient follows nobody.
        if let isFollowed, (question.isAuthorFollowed ?? false) != isFollowed { return false }
        if let relations {
            guard let relation = question.relation, relations.contains(relation) else { return false }
        }
        if let zap {
            guard let amount = question.zapMillisats, zap.contains(amount) else { return false }
        }
        if let signals {
            guard let signal = question.signal, signals.contains(signal) else { return false }
        }
        if let languages {
            guard let language = question.language, languages.contains(where: language.speaks) else { return false }
        }
        if let platforms, !platforms.contains(question.platform) { return false }
        if let apps, !apps.contains(question.app) { return false }
        if let authors, !authors.contains(question.author) { return false }
        if let recipients {
            guard let recipient = question.recipient, recipients.contains(recipient) else { return false }
        }
        if let mentioned, !question.facts.mentionedKeys.contains(where: mentioned.contains) { return false }
        if let pTags, !pTags.contains(question.event.tags.count { $0.first == "p" }) { return false }
        for value in values where !value.holds(for: question) { return false }
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
        zapMillisats: UInt64? = nil,
        language: LanguageTag? = nil,
        isAuthorFollowed: Bool? = nil
    ) {
        self.init(
            facts: EventFacts(event),
            author: author ?? event.pubkey,
            recipient: recipient,
            relation: relation,
            signal: signal,
            zapMillisats: zapMillisats,
            language: language,
            isAuthorFollowed: isAuthorFollowed
        )
    }

    /// A question about an event whose `facts` others read as well.
    package init(
        facts: EventFacts,
        author: PublicKey,
        recipient: PublicKey?,
        relation: Relation?,
        signal: Signal?,
        zapMillisats: UInt64?,
        language: LanguageTag? = nil,
        isAuthorFollowed: Bool? = nil
    ) {
        self.facts = facts
        self.author = author
        self.recipient = recipient
        self.relation = relation
        self.signal = signal
        self.zapMillisats = zapMillisats
        self.language = language
        self.isAuthorFollowed = isAuthorFollowed
    }
}

extension LanguageTag {
    /// Whether people of this language read `other`: it is the same, or one of ``fallbacks``.
    func speaks(_ other: LanguageTag) -> Bool {
        self == other || fallbacks.contains(other)
    }
}
