import Nostr
import Push
import Rules

/// What an event is to one account that it names: the signal, how it refers to the account, which event it is about,
/// and who did it.
package struct Relevance: Sendable, Hashable {
    /// Nil for kinds that only a rules file gives a signal.
    package var signal: Signal?
    package var relation: Relation?
    /// The event whose author decides whether and how it concerns the account; nil when that is decided. Tags that name
    /// several people and no author leave this open. The answer is worth waiting for in every mode.
    package var openQuestion: EventID?
    package var referencedID: EventID?
    /// The person that a notification names: the sender of a zap, else the event's author.
    package var author: PublicKey
    package var zap: ZapReceipt?
}

extension Relevance {
    /// What `event`, which names `account` in a `p` tag, is to that account; ``EventReading`` says more.
    package static func classify(
        _ event: Event,
        for account: PublicKey,
        authors: (EventID) -> [PublicKey]? = { _ in nil }
    ) throws(Irrelevance) -> Relevance {
        try EventReading(event).relevance(to: account, authors: authors)
    }
}

/// Why an event that names an account does not concern it.
package enum Irrelevance: Error, Sendable, Hashable, CustomStringConvertible {
    /// It is about somebody else's event.
    case notTarget
    /// The recipient of the zap sent it.
    case ownZap
    case invalidZap(ZapReceiptError)

    var step: PipelineStep {
        switch self {
        case .notTarget: .notTarget
        case .ownZap: .own
        case .invalidZap: .invalidZap
        }
    }

    package var description: String {
        switch self {
        case .notTarget: "it is about somebody else's event"
        case .ownZap: "the recipient sent the zap"
        case .invalidZap(let error): "\(error)"
        }
    }
}

/// What an event is about, by its kind. Read once for all accounts that it names, which may be thousands.
struct EventReading {
    private enum Subject {
        case message
        case follow
        /// To which event, and who is said to have written that; no more of its target, which is many texts.
        case reaction(to: EventID?, by: PublicKey?)
        case repost(of: EventID?, isForOne: Bool)
        case zap(Result<ZapReceipt, ZapReceiptError>)
        case note(EventRelations, about: EventID?)
        case other(EventRelations, about: EventID?)
    }

    private let author: PublicKey
    private let subject: Subject

    init(_ event: Event) {
        author = event.pubkey
        switch EventSubject(event.kind) {
        case .message: subject = .message
        case .follow: subject = .follow
        case .reaction:
            let target = event.reactionTarget
            subject = .reaction(to: target?.event.id, by: target?.author)
        case .repost:
            subject = .repost(of: event.firstReference, isForOne: EventRelations(event).isForOne)
        case .zap: subject = .zap(Result { () throws(ZapReceiptError) in try ZapReceipt(event) })
        case .note: subject = .note(EventRelations(event), about: event.answeredOrQuoted)
        case nil: subject = .other(EventRelations(event), about: event.firstReference)
        }
    }

    /// What the event, which names `account` in a `p` tag, is to that account. `authors` gives the authors of an event,
    /// if they are known: its signer, and the key that the signer claims to speak for.
    ///
    /// Throws when it does not concern the account: a reaction names everybody in a thread and is for the last `p`
    /// (NIP-25).
    func relevance(to account: PublicKey, authors: (EventID) -> [PublicKey]?) throws(Irrelevance) -> Relevance {
        switch subject {
        case .message: return Relevance(signal: .dm, author: author)
        case .follow: return Relevance(signal: .follow, author: author)
        case .reaction(let id, let target): return try reaction(to: id, by: target, account, authors)
        case .repost(let id, let isForOne): return try repost(id, isForOne, account, authors)
        case .zap(let receipt): return try zap(receipt, account)
        case .note(let relations, let id):
            let finding = relations.relation(to: account, authors: authors)
            return Relevance(
                signal: finding.relation == .reply ? .reply : .mention,
                relation: finding.relation ?? .mention,
                openQuestion: finding.openQuestion,
                referencedID: id,
                author: author
            )
        case .other(let relations, let id):
            let finding = relations.relation(to: account, authors: authors)
            return Relevance(
                relation: finding.relation,
                openQuestion: finding.openQuestion,
                referencedID: id,
                author: author
            )
        }
    }

    private func reaction(
        to id: EventID?,
        by target: PublicKey?,
        _ account: PublicKey,
        _ authors: (EventID) -> [PublicKey]?
    ) throws(Irrelevance) -> Relevance {
        if let target, target != account { throw .notTarget }
        if let id, let authors = authors(id), !authors.contains(account) { throw .notTarget }
        return Relevance(signal: .reaction, referencedID: id, author: author)
    }

    /// NIP-18 has `p` name the author of what is reposted; of several that are named, only one can be that.
    private func repost(
        _ id: EventID?,
        _ isForOne: Bool,
        _ account: PublicKey,
        _ authors: (EventID) -> [PublicKey]?
    ) throws(Irrelevance) -> Relevance {
        var relevance = Relevance(signal: .repost, referencedID: id, author: author)
        guard let id else { return relevance }
        if let authors = authors(id) {
            guard authors.contains(account) else { throw .notTarget }
        } else if !isForOne {
            relevance.openQuestion = id
        }
        return relevance
    }

    private func zap(
        _ receipt: Result<ZapReceipt, ZapReceiptError>,
        _ account: PublicKey
    ) throws(Irrelevance) -> Relevance {
        switch receipt {
        case .failure(let error): throw .invalidZap(error)
        case .success(let zap):
            guard zap.recipient == account else { throw .invalidZap(.wrongRecipient) }
            guard zap.sender != account else { throw .ownZap }
            return Relevance(signal: .zap, referencedID: zap.zapped, author: zap.sender, zap: zap)
        }
    }
}

extension Event {
    /// The id in the first `e` tag that has one.
    fileprivate var firstReference: EventID? {
        values(of: "e").lazy.compactMap { EventID(hex: $0) }.first
    }

    /// The event that a note answers, else the one it quotes, else the one that an `e` tag mentions.
    fileprivate var answeredOrQuoted: EventID? {
        if case .event(let parent)? = comment?.parent { return parent.id }
        if let thread { return thread.parent.id }
        for case .event(let quoted) in quotes { return quoted.id }
        return firstReference
    }
}
