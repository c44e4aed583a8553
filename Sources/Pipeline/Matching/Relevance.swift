import Nostr
import Push
import Rules

/// The meaning of an event for one account that it names: signal, relation to the account, referenced event and author.
package struct Relevance: Sendable, Hashable {
    /// Nil for kinds that get their signal from a rules file.
    package var signal: Signal?
    package var relation: Relation?
    /// The event whose author decides whether and how the event concerns the account. Nil if that is decided. Tags that
    /// name several people and no author leave it open. Events wait for the answer in every mode.
    package var openQuestion: EventID?
    package var referencedID: EventID?
    /// The person that a notification names: the sender of a zap, or else the event's author.
    package var author: PublicKey
    package var zap: ZapReceipt?
}

extension Relevance {
    /// Returns the relevance of `event` to `account`, which it names in a `p` tag. See ``EventReading``.
    package static func classify(
        _ event: Event,
        for account: PublicKey,
        authors: (EventID) -> [PublicKey]? = { _ in nil }
    ) throws(RelevanceError) -> Relevance {
        try EventReading(event).relevance(to: account, authors: authors)
    }
}

/// The reason why an event that names an account does not concern it.
package enum RelevanceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It is about another author's event.
    case notTarget
    /// The recipient sent the zap.
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
        case .notTarget: "it is about another author's event"
        case .ownZap: "the recipient sent the zap"
        case .invalidZap(let error): "\(error)"
        }
    }
}

/// The subject of an event, by its kind. It is parsed once for all accounts that the event names, which may be
/// thousands.
struct EventReading {
    private enum Subject {
        case message
        case follow
        /// The referenced event and its author as tagged. Other parts of the target are not stored, because they are
        /// large.
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

    /// Returns the relevance of the event to `account`, which it names in a `p` tag. `authors` returns the authors of
    /// an event if known: its signer, and the key that the signer claims to speak for.
    ///
    /// Throws if the event does not concern the account: a reaction names all participants of a thread, and is for the
    /// last `p` (NIP-25).
    func relevance(to account: PublicKey, authors: (EventID) -> [PublicKey]?) throws(RelevanceError) -> Relevance {
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
    ) throws(RelevanceError) -> Relevance {
        if let target, target != account { throw .notTarget }
        if let id, let authors = authors(id), !authors.contains(account) { throw .notTarget }
        return Relevance(signal: .reaction, referencedID: id, author: author)
    }

    /// NIP-18: `p` names the author of the reposted event. If there are several, only one can be the author.
    private func repost(
        _ id: EventID?,
        _ isForOne: Bool,
        _ account: PublicKey,
        _ authors: (EventID) -> [PublicKey]?
    ) throws(RelevanceError) -> Relevance {
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
    ) throws(RelevanceError) -> Relevance {
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

    /// The event that a note replies to, or else quotes, or else mentions in an `e` tag.
    fileprivate var answeredOrQuoted: EventID? {
        if case .event(let parent)? = comment?.parent { return parent.id }
        if let thread { return thread.parent.id }
        for case .event(let quoted) in quotes { return quoted.id }
        return firstReference
    }
}
