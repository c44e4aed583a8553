extension Event {
    /// Returns the first value of the first tag called `name` that has one.
    package func value(of name: String) -> String? {
        tags.first { $0.count > 1 && $0[0] == name }?[1]
    }

    /// Returns the first values of all tags called `name`, in order.
    package func values(of name: String) -> [String] {
        tags.compactMap { $0.count > 1 && $0[0] == name ? $0[1] : nil }
    }

    /// Returns the first value of the last tag called `name` that has one.
    func lastValue(of name: String) -> String? {
        tags.last { $0.count > 1 && $0[0] == name }?[1]
    }

    /// The keys in the `p` tags, in order, with duplicates. Values that are not valid keys are omitted.
    package var mentionedKeys: [PublicKey] {
        values(of: "p").compactMap { PublicKey(hex: $0) }
    }

    /// The value of `d`, which distinguishes addressable events of one author (NIP-01); empty if there is none.
    package var identifier: String {
        value(of: "d") ?? ""
    }

    /// The address of this event, if it is addressable or replaceable (NIP-01).
    package var address: EventAddress {
        EventAddress(kind: kind, pubkey: pubkey, identifier: identifier)
    }

    /// When the event expires (NIP-40), in seconds since 1970; `nil` if the tag is missing or invalid.
    package var expiration: Int64? {
        value(of: "expiration").flatMap { Int64($0) }
    }

    /// Whether the event has expired (NIP-40) at `seconds` since 1970.
    package func isExpired(at seconds: Int64) -> Bool {
        expiration.map { $0 <= seconds } ?? false
    }
}

extension Event {
    /// The targets that the event quotes (NIP-18), in the order of its `q` tags.
    package var quotes: [EventTarget] {
        tags.compactMap { tag in
            guard tag.count > 1, tag[0] == "q" else { return nil }
            if let address = EventAddress(tag[1]) { return .address(address) }
            return EventReference(tag: tag, authorIndex: 3).map(EventTarget.event)
        }
    }
}

extension Event {
    /// The reposted event (NIP-18), from the first `e` tag with an id; nil if this is not a repost.
    package var repostedID: EventID? {
        guard kind == .repost || kind == .genericRepost || kind == .audioRepost else { return nil }
        return values(of: "e").lazy.compactMap { EventID(hex: $0) }.first
    }

    /// The event in a repost's content (NIP-18); nil unless its id and signature are valid and `e` names it.
    package var reposted: Event? {
        guard let repostedID, content.first == "{", let event = try? Event(json: Array(content.utf8)),
            event.id == repostedID, (try? event.verify()) != nil
        else { return nil }
        return event
    }
}

/// The public content of a kind 10050: the relays at which its author receives messages (NIP-17), and in Gozzip the
/// devices of that root identity and the keys under which it receives messages.
package struct DeviceList: Hashable, Sendable {
    /// Public keys of devices, from `device` tags.
    package var devices: [PublicKey]
    /// From `dm_key` tags.
    package var messageKeys: [PublicKey]
    /// From `relay` tags; URLs are as the author wrote them.
    package var relays: [String]
    /// Whether it has any `device` or `dm_key` tag, even one without a value. A list without them is from an app that
    /// supports only relays (NIP-17), so it does not change the devices.
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

    /// Reads the tags in order. Invalid keys are omitted.
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
    /// The relays from which the author reads. Events addressed to the author should be published there.
    package var read: [String]
    /// The relays to which the author publishes.
    package var write: [String]

    package init(read: [String] = [], write: [String] = []) {
        self.read = read
        self.write = write
    }

    /// Reads the `r` tags in order. A relay without a marker is for both, and one with an unknown marker for neither.
    package init(_ event: Event) {
        self.init()
        for tag in event.tags where tag.count > 1 && tag[0] == "r" {
            let marker = tag.count > 2 ? tag[2] : ""
            if marker.isEmpty || marker == "read" { read.append(tag[1]) }
            if marker.isEmpty || marker == "write" { write.append(tag[1]) }
        }
    }
}

/// An author's deletion of single events (kind 5, NIP-09), or of everything so far (kind 62, NIP-62). Applies only to
/// the author's own events.
package struct Deletion: Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        /// These events, and older events at these addresses.
        case events(Set<EventID>, Set<EventAddress>)
        /// All older events, at the relays that the request names.
        case everything(relays: [String])
    }

    /// The maximum number of events, addresses or relays that are read from one request.
    private static let limit = 256
    /// Means all relays in a request to vanish.
    package static let allRelays = "ALL_RELAYS"

    package let author: PublicKey
    /// In seconds since 1970.
    package let createdAt: Int64
    package let scope: Scope

    /// Nil if the event has another kind.
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

    /// The ids of the deleted events.
    package var ids: Set<EventID> {
        if case .events(let ids, _) = scope { ids } else { [] }
    }
}
