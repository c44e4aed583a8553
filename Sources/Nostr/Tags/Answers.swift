/// What a note answers (NIP-10).
package struct ThreadReference: Hashable, Sendable {
    /// The note that began the thread. `nil` only where a client left the marker out.
    package let root: EventReference?
    /// The note answered, which is the root itself for a first answer.
    package let parent: EventReference

    package init(root: EventReference?, parent: EventReference) {
        self.root = root
        self.parent = parent
    }
}

extension Event {
    /// What the event answers by its `e` tags (NIP-10); `nil` if it begins a thread of its own.
    ///
    /// With markers, they decide; a root alone is answered itself. Without any, the deprecated order of tags does:
    /// the first is the root, the last is answered.
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

/// What a comment (NIP-22) is about and what it answers.
package struct CommentReference: Hashable, Sendable {
    /// What all the comments are about, from the tags in capitals.
    package let root: EventTarget?
    /// What this comment answers, from the tags in small letters: the root or another comment.
    package let parent: EventTarget?
    /// Who wrote what is answered: by its own tag, else by the first `p` tag.
    package let parentAuthor: PublicKey?
    /// The kind of what is answered; `nil` if it is nothing on Nostr.
    package let parentKind: Kind?
}

extension Event {
    /// What the event comments on (NIP-22); `nil` if it is not a comment.
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

    /// An event is preferred to its address, because it says which version is meant.
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

/// What a reaction (NIP-25) is to.
package struct ReactionTarget: Hashable, Sendable {
    /// From the last `e` tag.
    package let event: EventReference
    /// From the last `p` tag, else what the `e` tag says, else the one of the last `a` tag.
    package let author: PublicKey?
    package let address: EventAddress?
    /// The kind of the event reacted to.
    package let kind: Kind?
}

extension Event {
    /// What the event reacts to (NIP-25); `nil` if it is no reaction, or has no usable `e` tag.
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
