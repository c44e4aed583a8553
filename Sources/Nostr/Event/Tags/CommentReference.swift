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
