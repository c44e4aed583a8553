import Nostr
import Notifications
import Rules

/// An event that is to wake a device, as far as its pace is concerned.
package struct PaceMatch: Sendable {
    let event: EventID
    let signal: Signal
    let mode: Mode
    let urgency: Urgency
    /// When telling it makes no sense any more, by what the event (NIP-40) or its rule says, in milliseconds since 1970; 0: never.
    let expiresAt: Int64
    let pace: PushPace
    let nature: PushNature
    /// What belongs together where only the latest counts; nil: all count.
    let mark: Int64?
    /// When the event was made, in seconds since 1970; of use with a mark alone.
    let madeAt: Int64

    package init(
        event: EventID,
        signal: Signal,
        mode: Mode,
        urgency: Urgency,
        expiresAt: Int64,
        pace: PushPace = .batch,
        nature: PushNature = .alert,
        mark: Int64? = nil,
        madeAt: Int64 = 0
    ) {
        self.event = event
        self.signal = signal
        self.mode = mode
        self.urgency = urgency
        self.expiresAt = expiresAt
        self.pace = pace
        self.nature = nature
        self.mark = mark
        self.madeAt = madeAt
    }
}
