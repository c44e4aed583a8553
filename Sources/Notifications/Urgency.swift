/// How soon a device should be bothered; the values are the ABI's `carillon_urgency`.
package enum Urgency: Int32, Sendable, Codable, CaseIterable {
    case low = 0
    case normal = 1
    case high = 2

    /// The word that rules use.
    package var name: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}

/// What a push does on the device. Pacing may delay or replace a push, but never changes its nature.
package enum PushNature: Int32, Sendable, Hashable, CaseIterable {
    /// It shows a text. Several that wait may become one that gives their number.
    case alert = 0
    /// It wakes the app and nobody sees it: a background push, a data message without a text.
    case silent = 1
    /// The device or the app acts on it in another way: a call, a Live Activity, a widget, a badge without a text.
    case special = 2
}

/// How a push waits for a device's cooldown: a rule's `pace`, or else what its platform says about the kind of push.
package enum PushPace: String, Sendable, Hashable, CaseIterable {
    /// It goes at once and starts no cooldown.
    case immediate
    /// While it waits, a later one of the same `key` takes its place.
    case latest
    /// Those that wait together become one push that gives their number.
    case batch
}
