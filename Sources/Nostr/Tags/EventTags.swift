extension Event {
    /// The first value of the first tag called `name` that has one.
    package func value(of name: String) -> String? {
        tags.first { $0.count > 1 && $0[0] == name }?[1]
    }

    /// The first values of all tags called `name`, in their order.
    package func values(of name: String) -> [String] {
        tags.compactMap { $0.count > 1 && $0[0] == name ? $0[1] : nil }
    }

    /// The last of them.
    func lastValue(of name: String) -> String? {
        tags.last { $0.count > 1 && $0[0] == name }?[1]
    }

    /// The keys in the `p` tags, in their order, with repetitions. Values that are no keys are left out.
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

extension Event {
    /// What the event quotes (NIP-18), in the order of its `q` tags.
    package var quotes: [EventTarget] {
        tags.compactMap { tag in
            guard tag.count > 1, tag[0] == "q" else { return nil }
            if let address = EventAddress(tag[1]) { return .address(address) }
            return EventReference(tag: tag, authorIndex: 3).map(EventTarget.event)
        }
    }
}

extension Event {
    /// What the event reposts (NIP-18): the id in its first `e` tag that has one; nil if it is no repost.
    package var repostedID: EventID? {
        guard kind == .repost || kind == .genericRepost || kind == .audioRepost else { return nil }
        return values(of: "e").lazy.compactMap { EventID(hex: $0) }.first
    }

    /// The event that a repost carries in its content (NIP-18); nil unless it is what its author signed and what `e`
    /// names.
    package var reposted: Event? {
        guard let repostedID, content.first == "{", let event = try? Event(json: Array(content.utf8)),
            event.id == repostedID, (try? event.verify()) != nil
        else { return nil }
        return event
    }
}
