/// How much of an event a push service may see, from least to most.
///
/// The stricter of a rule's and a registration's mode wins, so the order of the raw values matters. They are the ABI's
/// `carillon_mode` values.
package enum Mode: Int32, Sendable, Codable, Comparable, CaseIterable {
    /// Only a signal and a count.
    case wake = 0
    /// A neutral visible text, without sender or content.
    case nudge = 1
    /// The whole notification, encrypted to the device.
    case sealed = 2
    /// The whole notification, readable.
    case alert = 3

    /// The name in rules, configuration and registrations.
    package var name: String {
        switch self {
        case .wake: "wake"
        case .nudge: "nudge"
        case .sealed: "sealed"
        case .alert: "alert"
        }
    }

    /// The mode of that name; nil if there is none.
    package init?(name: some StringProtocol) {
        guard let mode = Mode.allCases.first(where: { $0.name == name }) else { return nil }
        self = mode
    }

    package static func < (left: Mode, right: Mode) -> Bool { left.rawValue < right.rawValue }
}

/// A word for what happened. Registrations switch it on and off, and a wake-up contains it as `t`
/// (contrib/docs/rules.md, "What an app receives").
///
/// A rules file may define more signals than the well-known ones here.
package struct Signal: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let dm = Signal(rawValue: "dm")
    package static let mention = Signal(rawValue: "mention")
    package static let reply = Signal(rawValue: "reply")
    package static let reaction = Signal(rawValue: "reaction")
    package static let repost = Signal(rawValue: "repost")
    package static let follow = Signal(rawValue: "follow")
    package static let zap = Signal(rawValue: "zap")

    /// The built-in signals, in the order of the documentation.
    package static let wellKnown: [Signal] = [.dm, .mention, .reply, .reaction, .repost, .follow, .zap]
}

/// The urgency of a notification. The values are the ABI's `carillon_urgency`.
package enum Urgency: Int32, Sendable, Codable, CaseIterable {
    case low = 0
    case normal = 1
    case high = 2

    /// The name in rules.
    package var name: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}

/// The effect of a push on the device. Pacing may delay or replace a push, but never changes its nature.
package enum PushNature: Int32, Sendable, Hashable, CaseIterable {
    /// It shows a text. Held alerts may be merged into one with their number.
    case alert = 0
    /// It runs the app without showing anything: a background push, a data message without a text.
    case silent = 1
    /// The device or the app acts on it in another way: a call, a Live Activity, a widget, a badge without a text.
    case special = 2
}

/// How a push is paced: a rule's `pace`, or else the default of its platform for the kind of push.
package enum PushPace: String, Sendable, Hashable, CaseIterable {
    /// It is sent immediately and starts no cooldown.
    case immediate
    /// While it is held, a later one with the same `key` replaces it.
    case latest
    /// Held pushes are merged into one with their number.
    case batch
}
