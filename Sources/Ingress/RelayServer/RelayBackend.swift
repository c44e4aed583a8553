import Nostr

/// What is behind the socket: takes events and serves stored ones.
package protocol RelayBackend: Sendable {
    /// Takes events, each the bytes of one JSON object as it came. Calls `completion` once, on any thread, with an
    /// answer for each event in order, when what was accepted is kept. Returns at once; while answers are outstanding
    /// the caller reads no more than its limits allow. Whoever sent the events has proven to be `authenticated`
    /// (NIP-42); that says nothing about who signed them. `client` is the address that they came from, where it is
    /// known.
    func submit(
        _ events: [[UInt8]],
        authenticated: Set<PublicKey>,
        client: String?,
        completion: @escaping @Sendable ([EventAnswer]) -> Void
    )

    /// The stored events that match any of `filters`, newest first, as the bytes of JSON objects. Registrations come
    /// only to their own authors, who are among `authenticated`.
    func storedEvents(matching filters: [Filter], authenticated: Set<PublicKey>) async -> [[UInt8]]
}

/// The content of an OK message (NIP-01).
package struct EventAnswer: Sendable, Hashable {
    /// The event's id; nil when the event could not be read that far.
    package var id: EventID?
    package var accepted: Bool
    /// Empty, or a machine-readable prefix, a colon and a sentence.
    package var message: String

    package init(id: EventID?, accepted: Bool, message: String = "") {
        self.id = id
        self.accepted = accepted
        self.message = message
    }
}

extension EventAnswer {
    /// OK, or a NOTICE when the event says no id to say OK about.
    func relayMessage(to event: [UInt8]) -> RelayMessage {
        guard let id = id ?? event.withUnsafeBytes(EventScanner.id) else { return .notice(message) }
        return .ok(id, isAccepted: accepted, message: message)
    }
}
