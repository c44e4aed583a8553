/// What kind of thing happened, in one word: what a registration's filters switch on and off, and what a wake-up carries
/// as `t` (seed 004 section 3).
///
/// The well-known ones are named here; a rules file may name more.
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

    /// The signals every Carillon knows, in the order in which documentation lists them.
    package static let wellKnown: [Signal] = [.dm, .mention, .reply, .reaction, .repost, .follow, .zap]
}
