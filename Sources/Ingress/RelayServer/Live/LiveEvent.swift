import Nostr

/// An event that just came to be, spelled once for all who want it.
struct LiveEvent: Sendable {
    let event: Event
    let json: [UInt8]

    init(_ event: Event) {
        self.event = event
        json = event.json
    }
}
