import Nostr
import Notifications

extension EventConcern {
    /// What `event`, which names `account` in a `p` tag, is to that account; nil when it only names it in passing, as a
    /// reaction names everybody in a thread (NIP-25: the last `p` is whom it is for).
    package static func classify(_ event: Event, for account: PublicKey) -> EventConcern? {
        switch event.kind {
        case .giftWrap, .ephemeralGiftWrap, .encryptedDirectMessage, .chatMessage:
            return EventConcern(signal: .dm)
        case .reaction:
            if let author = event.reactionTarget?.author, author != account { return nil }
            return EventConcern(signal: .reaction, referencedID: event.reactionTarget?.event.id)
        case .repost, .genericRepost, .audioRepost:
            return EventConcern(signal: .repost, referencedID: event.firstReference)
        case .contactList:
            return EventConcern(signal: .follow)
        case .zapReceipt:
            return EventConcern(signal: .zap, referencedID: event.firstReference)
        case .textNote, .comment, .audioNote:
            let relation = event.relation(to: account) ?? .mention
            return EventConcern(
                signal: relation == .reply ? .reply : .mention,
                relation: relation,
                referencedID: event.answeredOrQuoted
            )
        default:
            return EventConcern(signal: nil, relation: event.relation(to: account), referencedID: event.firstReference)
        }
    }
}

extension Event {
    /// The id in the first `e` tag that has one.
    fileprivate var firstReference: EventID? {
        values(of: "e").lazy.compactMap { EventID(hex: $0) }.first
    }

    /// What a note answers, else what it quotes.
    fileprivate var answeredOrQuoted: EventID? {
        if case .event(let parent)? = comment?.parent { return parent.id }
        if let thread { return thread.parent.id }
        for case .event(let quoted) in quotes { return quoted.id }
        return nil
    }
}
