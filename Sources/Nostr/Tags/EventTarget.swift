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

/// Another event, as an `e` or `q` tag names it (NIP-01, NIP-10).
package struct EventReference: Hashable, Sendable {
    package let id: EventID
    /// Where it may be found; unchecked.
    package let relay: String?
    /// Who is said to have written it.
    package let author: PublicKey?

    package init(id: EventID, relay: String? = nil, author: PublicKey? = nil) {
        self.id = id
        self.relay = relay
        self.author = author
    }

    /// Reads a tag whose first value is an id, whose second may be a relay, and which names the author at
    /// `authorIndex`.
    init?(tag: [String], authorIndex: Int) {
        guard tag.count > 1, let id = EventID(hex: tag[1]) else { return nil }
        self.id = id
        self.relay = tag.count > 2 && !tag[2].isEmpty ? tag[2] : nil
        self.author = tag.count > authorIndex ? PublicKey(hex: tag[authorIndex]) : nil
    }
}

/// Where the newest version of a replaceable or addressable event is found (NIP-01): `kind:pubkey:d`.
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

    /// Reads the value of an `a` tag. The colon after the pubkey must be there even if nothing follows it.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = UInt16(parts[0]), let pubkey = PublicKey(hex: parts[1]) else { return nil }
        self.init(kind: Kind(kind), pubkey: pubkey, identifier: String(parts[2]))
    }

    package var description: String {
        "\(kind.rawValue):\(pubkey.hex):\(identifier)"
    }
}
