import Nostr
import Notifications

extension EventConcern {
    /// What `event`, which names `account` in a `p` tag, is to that account. `authors` tells who wrote an event, if that is
    /// known: its signer, and whom the signer says to speak for.
    ///
    /// Throws when it does not concern the account, as a reaction names everybody in a thread (NIP-25: the last `p` is whom it
    /// is for).
    package static func classify(
        _ event: Event,
        for account: PublicKey,
        authors: (EventID) -> [PublicKey]? = { _ in nil }
    ) throws(NoConcern) -> EventConcern {
        switch event.kind {
        case .giftWrap, .ephemeralGiftWrap, .encryptedDirectMessage, .chatMessage:
            return EventConcern(signal: .dm, author: event.pubkey)
        case .contactList:
            return EventConcern(signal: .follow, author: event.pubkey)
        case .reaction:
            return try reaction(event, account, authors)
        case .repost, .genericRepost, .audioRepost:
            return try repost(event, account, authors)
        case .zapReceipt:
            return try zap(event, account)
        default:
            let isNote = event.kind == .textNote || event.kind == .comment || event.kind == .audioNote
            let finding = event.relation(to: account, authors: authors)
            return EventConcern(
                signal: !isNote ? nil : finding.relation == .reply ? .reply : .mention,
                relation: finding.relation ?? (isNote ? .mention : nil),
                openQuestion: finding.openQuestion,
                referencedID: isNote ? event.answeredOrQuoted : event.firstReference,
                author: event.pubkey
            )
        }
    }

    private static func reaction(
        _ event: Event,
        _ account: PublicKey,
        _ authors: (EventID) -> [PublicKey]?
    ) throws(NoConcern) -> EventConcern {
        let target = event.reactionTarget
        if let author = target?.author, author != account { throw .notTarget }
        if let target, let authors = authors(target.event.id), !authors.contains(account) { throw .notTarget }
        return EventConcern(signal: .reaction, referencedID: target?.event.id, author: event.pubkey)
    }

    /// NIP-18 has `p` name the author of what is reposted; of several that are named, only one can be that.
    private static func repost(
        _ event: Event,
        _ account: PublicKey,
        _ authors: (EventID) -> [PublicKey]?
    ) throws(NoConcern) -> EventConcern {
        var concern = EventConcern(signal: .repost, referencedID: event.firstReference, author: event.pubkey)
        guard let id = concern.referencedID else { return concern }
        if let authors = authors(id) {
            guard authors.contains(account) else { throw .notTarget }
        } else if Set(event.mentionedKeys).count > 1 {
            concern.openQuestion = id
        }
        return concern
    }

    private static func zap(_ event: Event, _ account: PublicKey) throws(NoConcern) -> EventConcern {
        let zap: ZapReceipt
        do {
            zap = try ZapReceipt(event)
        } catch {
            throw .invalidZap(error)
        }
        guard zap.recipient == account else { throw .invalidZap(.wrongRecipient) }
        guard zap.sender != account else { throw .ownZap }
        return EventConcern(signal: .zap, referencedID: zap.zapped, author: zap.sender, zap: zap)
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
