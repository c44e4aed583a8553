import Nostr
import Push

/// The event kinds with a default signal, and the signal of each.
///
/// They are declared only here: the matcher, the rule reader and its JSON Schema use them. From that schema
/// `contrib/update-docs` makes the table in `contrib/docs/rules.md` and the lists of the page /subscribe.
package enum EventSubject: CaseIterable, Sendable {
    case message, note, reaction, repost, follow, zap

    /// Nil for kinds that get a signal only from a rule.
    package init?(_ kind: Kind) {
        guard let subject = Self.byKind[kind.rawValue] else { return nil }
        self = subject
    }

    private static let byKind: [UInt16: EventSubject] = allCases.reduce(into: [UInt16: EventSubject]()) {
        subjects,
        subject in
        for kind in subject.kinds { subjects[kind.rawValue] = subject }
    }

    private var kinds: [Kind] {
        switch self {
        case .message: [.encryptedDirectMessage, .chatMessage, .giftWrap, .ephemeralGiftWrap]
        case .note: [.textNote, .comment, .audioNote]
        case .reaction: [.reaction]
        case .repost: [.repost, .genericRepost, .audioRepost]
        case .follow: [.contactList]
        case .zap: [.zapReceipt]
        }
    }

    private var signals: [Signal] {
        switch self {
        case .message: [.dm]
        case .note: [.mention, .reply]
        case .reaction: [.reaction]
        case .repost: [.repost]
        case .follow: [.follow]
        case .zap: [.zap]
        }
    }

    /// All kinds with a default signal.
    package static let allKinds = Set(byKind.keys)

    /// The kinds among them that are never a reply, a quote or a mention; unknown kinds can be one.
    package static let kindsWithoutRelation = allKinds.subtracting(EventSubject.note.kinds.map(\.rawValue))

    /// The kinds that may have `signal`; empty for a signal that rules define.
    package static func kinds(of signal: Signal) -> Set<UInt16> {
        Set(allCases.filter { $0.signals.contains(signal) }.flatMap(\.kinds).map(\.rawValue))
    }

    /// The kinds that may have `signal` and its recipients, for documents.
    static func description(of signal: Signal) -> String {
        let kinds = kinds(of: signal).sorted().map(String.init).joined(separator: ", ")
        return "Kinds \(kinds): \(audience(of: signal))"
    }

    private static func audience(of signal: Signal) -> String {
        switch signal {
        case .dm:
            "the account in the `p` tag; of a gift wrap also the account whose kind 10050 has that key as `dm_key`."
        case .mention: "every account named, except the author of the note that it answers."
        case .reply: "the author of the note that it answers."
        case .reaction:
            "the author of the event reacted to: the last `p` tag (NIP-25), or without any the author in the last `a` tag."
        case .repost: "the author of the reposted event."
        case .follow: "accounts that were not on the author's list before."
        case .zap: "the account that the zap request pays, if the receipt is valid."
        default: "every account named."
        }
    }
}
