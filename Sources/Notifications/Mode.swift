/// How much of an event a push service may see, from least to most.
///
/// The stricter of a rule's and a registration's mode wins, so the order of the raw values matters. They are the ABI's
/// `carillon_mode` values.
package enum Mode: Int32, Sendable, Codable, Comparable, CaseIterable {
    /// Only that something happened: a signal and a count.
    case wake = 0
    /// A neutral visible text, without sender or content.
    case nudge = 1
    /// The whole notification, encrypted to the device.
    case sealed = 2
    /// Everything, readable.
    case alert = 3

    /// The word that rules, configuration and registrations use.
    package var name: String {
        switch self {
        case .wake: "wake"
        case .nudge: "nudge"
        case .sealed: "sealed"
        case .alert: "alert"
        }
    }

    /// The mode of that name, or nil when there is none.
    package init?(name: some StringProtocol) {
        guard let mode = Mode.allCases.first(where: { $0.name == name }) else { return nil }
        self = mode
    }

    package static func < (left: Mode, right: Mode) -> Bool { left.rawValue < right.rawValue }
}

/// What happened, in one word: registrations switch it on and off, and a wake-up carries it as `t` (seed 004 section
/// 3).
///
/// A rules file may define more than the well-known ones here.
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
