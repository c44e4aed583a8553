extension Event {
    /// The first value of the first tag called `name` that has one.
    package func value(of name: String) -> String? {
        tags.first { $0.count > 1 && $0[0] == name }?[1]
    }

    /// The first values of all tags called `name`, in their order.
    package func values(of name: String) -> [String] {
        tags.compactMap { $0.count > 1 && $0[0] == name ? $0[1] : nil }
    }

    /// Whom the `p` tags name, in their order, repetitions included. What is no key is left out.
    package var mentionedKeys: [PublicKey] {
        values(of: "p").compactMap { PublicKey(hex: $0) }
    }

    /// The value of `d`, which tells addressable events of one author apart (NIP-01); empty if there is none.
    package var identifier: String {
        value(of: "d") ?? ""
    }

    /// Where this event is found, if it is addressable or replaceable (NIP-01).
    package var address: EventAddress {
        EventAddress(kind: kind, pubkey: pubkey, identifier: identifier)
    }

    /// When the event ceases to mean anything (NIP-40), in seconds since 1970; `nil` if it says nothing understandable.
    package var expiration: Int64? {
        value(of: "expiration").flatMap { Int64($0) }
    }

    /// Whether the event has expired (NIP-40) at `seconds` since 1970.
    package func isExpired(at seconds: Int64) -> Bool {
        expiration.map { $0 <= seconds } ?? false
    }
}
