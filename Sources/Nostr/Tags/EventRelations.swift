/// The keys that an event names, and the events it replies to and quotes. Parsed once for all these keys, which may be
/// thousands.
package struct EventRelations: Sendable {
    /// The maximum number of quoted events that are considered, because each may require a disk access.
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

    /// Returns the relation of the event to `key`.
    ///
    /// It depends on the author of the event that is replied to or quoted: from `authors`, if known there, else from
    /// the tag that names the event (NIP-10, NIP-18, NIP-22). If neither has the author, a key in a `p` tag is assumed
    /// to be the author, because clients name the author there. With several `p` tags, that is a guess.
    package func relation(to key: PublicKey, authors: (EventID) -> [PublicKey]? = { _ in nil }) -> RelationMatch {
        let answered = answered.map { ($0, isBy($0, key, authors)) }
        if let answered, answered.1 == true { return RelationMatch(relation: .reply) }
        let quoted = quoted.map { ($0, isBy($0, key, authors)) }
        if quoted.contains(where: { $0.1 == true }) { return RelationMatch(relation: .quote) }
        guard named.contains(key) else { return RelationMatch() }
        if let (target, isTheirs) = answered, isTheirs == nil, let id = target.eventID {
            return RelationMatch(relation: .reply, openQuestion: isForOne ? nil : id)
        }
        if let id = quoted.lazy.filter({ $0.1 == nil }).compactMap(\.0.eventID).first {
            return RelationMatch(relation: .quote, openQuestion: isForOne ? nil : id)
        }
        return RelationMatch(relation: .mention)
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

/// The relation of a note or a comment to a user.
package enum Relation: String, CaseIterable, Hashable, Sendable {
    /// It replies to an event of the user.
    case reply
    /// It quotes an event of the user.
    case quote
    /// It names the user.
    case mention
}

/// The relation of an event to a user, from its tags and the known events that they name.
package struct RelationMatch: Hashable, Sendable {
    /// Nil if there is no relation.
    package var relation: Relation?
    /// The event whose author would decide the relation; nil if it is decided. Until then ``relation`` is a guess.
    package var openQuestion: EventID?
}

/// The target of a quote, a comment or a reaction.
package enum EventTarget: Hashable, Sendable {
    case event(EventReference)
    case address(EventAddress)
    /// Something outside of Nostr (NIP-73), by its identifier.
    case external(String)

    /// The author according to the tag, unverified.
    package var author: PublicKey? {
        switch self {
        case .event(let reference): reference.author
        case .address(let address): address.pubkey
        case .external: nil
        }
    }

    /// The event's id; nil for an address and for a target outside of Nostr.
    package var eventID: EventID? {
        if case .event(let reference) = self { reference.id } else { nil }
    }
}

/// Another event, as an `e` or `q` tag names it (NIP-01, NIP-10).
package struct EventReference: Hashable, Sendable {
    package let id: EventID
    /// A relay that may have the event; unchecked.
    package let relay: String?
    /// The author according to the tag, unverified.
    package let author: PublicKey?

    package init(id: EventID, relay: String? = nil, author: PublicKey? = nil) {
        self.id = id
        self.relay = relay
        self.author = author
    }

    /// Reads a tag with an id, an optional relay and an author at `authorIndex`.
    init?(tag: [String], authorIndex: Int) {
        guard tag.count > 1, let id = EventID(hex: tag[1]) else { return nil }
        self.id = id
        self.relay = tag.count > 2 && !tag[2].isEmpty ? tag[2] : nil
        self.author = tag.count > authorIndex ? PublicKey(hex: tag[authorIndex]) : nil
    }
}

/// The address of the newest version of a replaceable or addressable event (NIP-01): `kind:pubkey:d`.
package struct EventAddress: Hashable, Sendable, CustomStringConvertible {
    package let kind: Kind
    package let pubkey: PublicKey
    /// The value of `d`; empty for replaceable events. May contain colons.
    package let identifier: String

    package init(kind: Kind, pubkey: PublicKey, identifier: String) {
        self.kind = kind
        self.pubkey = pubkey
        self.identifier = identifier
    }

    /// Reads the value of an `a` tag. The colon after the pubkey is required even if the identifier is empty.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = UInt16(parts[0]), let pubkey = PublicKey(hex: parts[1]) else { return nil }
        self.init(kind: Kind(kind), pubkey: pubkey, identifier: String(parts[2]))
    }

    package var description: String {
        "\(kind.rawValue):\(pubkey.hex):\(identifier)"
    }
}

/// The thread position of a note (NIP-10).
package struct ThreadReference: Hashable, Sendable {
    /// The note that started the thread. `nil` only if a client omitted the marker.
    package let root: EventReference?
    /// The note that is replied to, which is the root for a first reply.
    package let parent: EventReference

    package init(root: EventReference?, parent: EventReference) {
        self.root = root
        self.parent = parent
    }
}

extension Event {
    /// The note that the event replies to by its `e` tags (NIP-10); `nil` if it starts a thread.
    ///
    /// Markers have precedence; with only a root marker, the event replies to the root. Without markers, the deprecated
    /// order of tags applies: the first is the root, the last is replied to.
    package var thread: ThreadReference? {
        var root: EventReference?
        var reply: EventReference?
        var unmarked: [EventReference] = []
        for tag in tags where tag.first == "e" {
            let marker = tag.count > 3 ? tag[3] : ""
            guard let reference = EventReference(tag: tag, authorIndex: tag.count > 4 ? 4 : 3) else { continue }
            switch marker {
            case "root": root = root ?? reference
            case "reply": reply = reply ?? reference
            case "mention": continue
            default: unmarked.append(reference)
            }
        }
        if let parent = reply ?? root { return ThreadReference(root: root, parent: parent) }
        guard let first = unmarked.first, let last = unmarked.last else { return nil }
        return ThreadReference(root: first, parent: last)
    }
}

/// The targets of a comment (NIP-22).
package struct CommentReference: Hashable, Sendable {
    /// The root of all the comments, from the uppercase tags.
    package let root: EventTarget?
    /// The target that this comment replies to, from the lowercase tags: the root or another comment.
    package let parent: EventTarget?
    /// The author of the parent, from its own tag or else from the first `p` tag.
    package let parentAuthor: PublicKey?
    /// The kind of the parent; `nil` if it is outside of Nostr.
    package let parentKind: Kind?
}

extension Event {
    /// The targets of the comment (NIP-22); `nil` if the event is not a comment.
    package var comment: CommentReference? {
        guard kind == .comment else { return nil }
        let parent = target(event: "e", address: "a", external: "i")
        return CommentReference(
            root: target(event: "E", address: "A", external: "I"),
            parent: parent,
            parentAuthor: parent?.author ?? mentionedKeys.first,
            parentKind: value(of: "k").flatMap { UInt16($0) }.map { Kind($0) }
        )
    }

    /// An event is preferred to its address, because it identifies the version.
    private func target(event: String, address: String, external: String) -> EventTarget? {
        if let reference = tags.lazy.filter({ $0.first == event })
            .compactMap({ EventReference(tag: $0, authorIndex: 3) }).first
        {
            return .event(reference)
        }
        if let address = values(of: address).lazy.compactMap({ EventAddress($0) }).first { return .address(address) }
        return value(of: external).map(EventTarget.external)
    }
}

/// The target of a reaction (NIP-25).
package struct ReactionTarget: Hashable, Sendable {
    /// From the last `e` tag.
    package let event: EventReference
    /// From the last `p` tag, else from the `e` tag, else from the last `a` tag.
    package let author: PublicKey?
    package let address: EventAddress?
    /// The kind of the event reacted to.
    package let kind: Kind?
}

extension Event {
    /// The target of the reaction (NIP-25); `nil` if the event is not a reaction, or has no valid `e` tag.
    package var reactionTarget: ReactionTarget? {
        guard kind == .reaction,
            let event = tags.last(where: { $0.first == "e" }).flatMap({ EventReference(tag: $0, authorIndex: 3) })
        else { return nil }
        let address = lastValue(of: "a").flatMap { EventAddress($0) }
        return ReactionTarget(
            event: event,
            author: lastValue(of: "p").flatMap { PublicKey(hex: $0) } ?? event.author ?? address?.pubkey,
            address: address,
            kind: value(of: "k").flatMap { UInt16($0) }.map { Kind($0) }
        )
    }
}
