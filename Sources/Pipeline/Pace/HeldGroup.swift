import Nostr
import Notifications

/// Matches that wait for each other and go as one push. Of its members it knows how many they are; what the first says is on disk
/// as long as it is alone.
package struct HeldGroup: Hashable, Sendable {
    /// Which of the device's groups it is, from 0 to 3; the disk knows it by that.
    let slot: UInt8
    /// Direct messages may pass quiet hours, so they wait apart.
    let isMessage: Bool
    /// Whether it waits for the end of the window too.
    var hasOverflowed: Bool
    /// Whose device it is.
    let account: PublicKey
    /// Of the first member.
    let event: EventID
    /// Of the first member.
    let signal: Signal
    /// When the first member came, in milliseconds since 1970.
    let since: Int64
    var count: UInt32
    /// The least strict one of its members'.
    var mode: Mode
    /// The highest one of its members'.
    var urgency: Urgency
    /// The latest one of its members'; see ``PaceMatch/expiresAt``.
    var expiresAt: Int64

    static let slots = 4

    mutating func add(_ match: PaceMatch) {
        add(count: 1, match.mode, match.urgency, expiresAt: match.expiresAt)
    }

    mutating func add(_ other: HeldGroup) {
        add(count: other.count, other.mode, other.urgency, expiresAt: other.expiresAt)
    }

    /// Whether none of its members is worth telling any more.
    func isExpired(at now: Int64) -> Bool { expiresAt > 0 && expiresAt <= now }

    private mutating func add(count: UInt32, _ mode: Mode, _ urgency: Urgency, expiresAt: Int64) {
        // More than anybody would count.
        let (sum, overflow) = self.count.addingReportingOverflow(count)
        self.count = overflow ? .max : sum
        self.mode = max(self.mode, mode)
        self.expiresAt = self.expiresAt == 0 || expiresAt == 0 ? 0 : max(self.expiresAt, expiresAt)
        if urgency.rawValue > self.urgency.rawValue { self.urgency = urgency }
    }
}
