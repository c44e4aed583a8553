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

/// What a kind 10050 says in public: the relays its author receives messages at (NIP-17), and in Gozzip the devices
/// that speak for that root identity and the keys it receives messages under.
package struct DeviceList: Hashable, Sendable {
    /// Public keys of devices, from `device` tags.
    package var devices: [PublicKey]
    /// From `dm_key` tags.
    package var messageKeys: [PublicKey]
    /// From `relay` tags; URLs are as the author wrote them.
    package var relays: [String]
    /// Whether it has any `device` or `dm_key` tag, even one without a value. A list without them was written by an app
    /// that knows of relays only (NIP-17), and says nothing of devices.
    package var speaksOfDevices: Bool

    package init(
        devices: [PublicKey] = [],
        messageKeys: [PublicKey] = [],
        relays: [String] = [],
        speaksOfDevices: Bool = true
    ) {
        self.devices = devices
        self.messageKeys = messageKeys
        self.relays = relays
        self.speaksOfDevices = speaksOfDevices
    }

    /// Reads the tags in their order. What is no key is left out.
    package init(_ event: Event) {
        self.init(
            devices: event.values(of: "device").compactMap { PublicKey(hex: $0) },
            messageKeys: event.values(of: "dm_key").compactMap { PublicKey(hex: $0) },
            relays: event.values(of: "relay"),
            speaksOfDevices: event.tags.contains { $0.first == "device" || $0.first == "dm_key" }
        )
    }
}

/// A list of relays (NIP-65, kind 10002). URLs are as the author wrote them.
package struct RelayList: Hashable, Sendable {
    /// Where the author reads: what is addressed to him is to be published there.
    package var read: [String]
    /// Where the author publishes.
    package var write: [String]

    package init(read: [String] = [], write: [String] = []) {
        self.read = read
        self.write = write
    }

    /// Reads the `r` tags, in their order; a relay without a marker is for both, and one with another marker for
    /// neither.
    package init(_ event: Event) {
        self.init()
        for tag in event.tags where tag.count > 1 && tag[0] == "r" {
            let marker = tag.count > 2 ? tag[2] : ""
            if marker.isEmpty || marker == "read" { read.append(tag[1]) }
            if marker.isEmpty || marker == "write" { write.append(tag[1]) }
        }
    }
}

/// What an author takes back: single events (kind 5, NIP-09), or everything so far (kind 62, NIP-62). Concerns only the
/// author's own events.
package struct Deletion: Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        /// These, and what was at these addresses until then.
        case events(Set<EventID>, Set<EventAddress>)
        /// Everything until then, at the relays that the request names.
        case everything(relays: [String])
    }

    /// How many events, addresses or relays of one request are taken.
    private static let limit = 256
    /// Stands in a request to vanish for every relay there is.
    package static let allRelays = "ALL_RELAYS"

    package let author: PublicKey
    /// In seconds since 1970.
    package let createdAt: Int64
    package let scope: Scope

    /// Nil when the event is of another kind.
    package init?(_ event: Event) {
        author = event.pubkey
        createdAt = event.createdAt
        switch event.kind {
        case .deletion:
            let author = author
            scope = .events(
                Set(event.values(of: "e").prefix(Self.limit).compactMap { EventID(hex: $0) }),
                Set(
                    event.values(of: "a").prefix(Self.limit).compactMap { EventAddress($0) }
                        .filter { $0.pubkey == author }
                )
            )
        case .requestToVanish:
            scope = .everything(relays: Array(event.values(of: "relay").prefix(Self.limit)))
        default:
            return nil
        }
    }

    /// The single events that it names.
    package var ids: Set<EventID> {
        if case .events(let ids, _) = scope { ids } else { [] }
    }
}
