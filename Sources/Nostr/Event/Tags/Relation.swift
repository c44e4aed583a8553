/// How a note or a comment has to do with somebody.
package enum Relation: String, CaseIterable, Hashable, Sendable {
    /// It answers something that they wrote.
    case reply
    /// It quotes something that they wrote.
    case quote
    /// It names them.
    case mention
}

extension Event {
    /// How the event has to do with `key`; `nil` if not at all.
    ///
    /// A tag that names the author of what is answered or quoted decides. Where tags do not, whoever a `p` tag names is
    /// taken for that author, because NIP-10 and NIP-18 have clients name them there.
    package func relation(to key: PublicKey) -> Relation? {
        let answered = answered
        let quotes = quotes
        if let answered, answered.author == key { return .reply }
        if quotes.contains(where: { $0.author == key }) { return .quote }
        guard mentionedKeys.contains(key) else { return nil }
        if case .event? = answered, answered?.author == nil { return .reply }
        if quotes.contains(where: { $0.author == nil }) { return .quote }
        return .mention
    }

    private var answered: EventTarget? {
        switch kind {
        case .comment: comment?.parent
        case .reaction, .repost, .genericRepost, .zapReceipt: nil
        default: thread.map { .event($0.parent) }
        }
    }
}
