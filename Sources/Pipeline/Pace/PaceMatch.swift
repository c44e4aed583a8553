import Nostr
import Notifications

/// An event that is to wake a device, as far as its pace is concerned.
package struct PaceMatch: Sendable {
    let event: EventID
    let signal: Signal
    let mode: Mode
    let urgency: Urgency
    /// When telling it makes no sense any more, by what the event (NIP-40) or its rule says, in milliseconds since 1970; 0: never.
    let expiresAt: Int64

    package init(event: EventID, signal: Signal, mode: Mode, urgency: Urgency, expiresAt: Int64) {
        self.event = event
        self.signal = signal
        self.mode = mode
        self.urgency = urgency
        self.expiresAt = expiresAt
    }
}
