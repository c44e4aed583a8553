/// What a quote, a comment or a reaction is about.
package enum EventTarget: Hashable, Sendable {
    case event(EventReference)
    case address(EventAddress)
    /// Something outside of Nostr (NIP-73), by its identifier.
    case external(String)

    /// Who is said to have written it.
    package var author: PublicKey? {
        switch self {
        case .event(let reference): reference.author
        case .address(let address): address.pubkey
        case .external: nil
        }
    }

    /// The event's id; nil for an address and for what is outside of Nostr.
    package var eventID: EventID? {
        if case .event(let reference) = self { reference.id } else { nil }
    }
}
