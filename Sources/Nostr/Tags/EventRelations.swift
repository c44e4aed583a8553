/// The keys that an event names, and what it answers and quotes. Read once for all these keys, which may be thousands.
package struct EventRelations: Sendable {
    /// What is quoted beyond that decides nothing; each quoted event may take a look at a disk.
    private static let quoteLimit = 16

    private let named: Set<PublicKey>
    private let answered: EventTarget?
    private let quoted: [EventTarget]
    private let comment: CommentReference?

    package init(_ event: Event) {
        named = Set(event.mentionedKeys)
        quoted = Array(event.quotes.prefix(Self.quoteLimit))
        comment = event.comment
        switch event.kind {
        case .comment: answered = comment?.parent
        case .reaction, .repost, .genericRepost, .zapReceipt: answered = nil
        default: answered = event.thread.map { .event($0.parent) }
        }
    }

    /// Whether the event names at most one key.
    package var isForOne: Bool { named.count < 2 }

    /// The relation of the event to `key`.
    ///
    /// Who wrote what is answered or quoted decides: `authors`, where it knows the event, else the tag that names it
    /// (NIP-10, NIP-18, NIP-22). Where neither tells, whoever a `p` tag names is taken for that author, because clients
    /// name them there; when several are named, that is a guess.
    package func relation(to key: PublicKey, authors: (EventID) -> [PublicKey]? = { _ in nil }) -> RelationFinding {
        let answered = answered.map { ($0, isBy($0, key, authors)) }
        if let answered, answered.1 == true { return RelationFinding(relation: .reply) }
        let quoted = quoted.map { ($0, isBy($0, key, authors)) }
        if quoted.contains(where: { $0.1 == true }) { return RelationFinding(relation: .quote) }
        guard named.contains(key) else { return RelationFinding() }
        if let (target, isTheirs) = answered, isTheirs == nil, let id = target.eventID {
            return RelationFinding(relation: .reply, openQuestion: isForOne ? nil : id)
        }
        if let id = quoted.lazy.filter({ $0.1 == nil }).compactMap(\.0.eventID).first {
            return RelationFinding(relation: .quote, openQuestion: isForOne ? nil : id)
        }
        return RelationFinding(relation: .mention)
    }

    /// Nil when the author is unknown.
    private func isBy(_ target: EventTarget, _ key: PublicKey, _ authors: (EventID) -> [PublicKey]?) -> Bool? {
        if let id = target.eventID, let authors = authors(id) { return authors.contains(key) }
        if let author = target.author { return author == key }
        if target.eventID != nil, let comment, comment.parent == target, let author = comment.parentAuthor {
            return author == key
        }
        return nil
    }
}

/// The relation of a note or a comment to somebody.
package enum Relation: String, CaseIterable, Hashable, Sendable {
    /// It answers something that they wrote.
    case reply
    /// It quotes something that they wrote.
    case quote
    /// It names them.
    case mention
}

/// What an event's tags, and what is known of the events they name, say about its relation to somebody.
package struct RelationFinding: Hashable, Sendable {
    /// Nil when there is none.
    package var relation: Relation?
    /// The event whose author would settle it; nil when it is settled. Until then ``relation`` is a guess.
    package var openQuestion: EventID?
}
