import Nostr

/// An event that waits for what its texts speak of.
struct Parked {
    let event: Event
    let source: EventSource
    /// Where its verdict and those of its further copies belong.
    var places: [AnswerPlace]
}
