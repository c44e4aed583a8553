/// What a reaction (NIP-25) is to.
package struct ReactionTarget: Hashable, Sendable {
    /// From the last `e` tag.
    package let event: EventReference
    /// From the last `p` tag, else what the `e` tag says.
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
        return ReactionTarget(
            event: event,
            author: values(of: "p").last.flatMap { PublicKey(hex: $0) } ?? event.author,
            address: values(of: "a").last.flatMap { EventAddress($0) },
            kind: value(of: "k").flatMap { UInt16($0) }.map { Kind($0) }
        )
    }
}
