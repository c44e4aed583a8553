import Delivery
import Nostr
import Notifications

/// Matches that wait for each other and go as one push.
///
/// Where all of them count, it knows how many they are, and what the first says is on disk as long as it is alone.
/// Under a ``mark`` only the latest counts, and what that one says is on disk.
package struct HeldGroup: Hashable, Sendable {
    /// Which of the device's groups it is; the disk knows it by that.
    let slot: UInt8
    var nature: PushNature
    /// What belongs together where only the latest counts; nil: all count.
    var mark: Int64?
    /// When the event of the latest was made, in seconds since 1970; 0 where all count.
    var madeAt: Int64
    /// Direct messages may pass quiet hours, so they wait apart.
    var isMessage: Bool
    /// Whether it waits for the end of the window too.
    var hasOverflowed: Bool
    /// Whose device it is.
    let account: PublicKey
    /// Of the first member.
    let event: EventID
    /// Of the first member, or of the latest where only that counts.
    var signal: Signal
    /// When the first member came, in milliseconds since 1970.
    let since: Int64
    var count: UInt32
    /// The least strict one of its members', or the latest one's.
    var mode: Mode
    /// The highest one of its members'.
    var urgency: Urgency
    /// The latest one of its members', or that of the latest; see ``PaceMatch/expiresAt``.
    var expiresAt: Int64
    /// Whether another push used the turn that was this one's, too: it need not wait for the next. Not on disk.
    var isDue = false

    /// Of what counts altogether there is a group for each nature that counts, for messages or not, over the window or
    /// not.
    static let slotsOfBatches = 8
    /// So many alerts of which only the latest counts wait for a device; further ones are counted.
    static let slotsOfAlerts = 8
    /// So many other pushes of which only the latest counts wait for a device; a further one takes the place of the
    /// oldest.
    static let slotsOfOthers = HeldKey.slots - slotsOfBatches - slotsOfAlerts

    /// Whether its push is that of a member, and no count.
    var saysItself: Bool { mark != nil || count == 1 }

    /// Whether both are counts of the same sort, overflowed or not.
    func isOfSameSort(as other: HeldGroup) -> Bool {
        mark == nil && other.mark == nil && isMessage == other.isMessage && nature == other.nature
    }

    /// Whether what it says is what that match says.
    func says(_ match: PaceMatch) -> Bool {
        mark == nil ? count == 1 : mark == match.mark && madeAt == match.madeAt
    }

    mutating func add(_ match: PaceMatch) {
        guard mark != nil else {
            return add(count: 1, match.mode, match.urgency, expiresAt: match.expiresAt)
        }
        countOne()
        // Relays bring stored events newest first.
        if match.madeAt >= madeAt { replace(by: match) }
    }

    mutating func add(_ other: HeldGroup) {
        add(count: other.count, other.mode, other.urgency, expiresAt: other.expiresAt)
    }

    /// One more match that is part of it.
    mutating func countOne() {
        // More than anybody would count.
        if count < .max { count += 1 }
    }

    /// Lets another match take the place of what it keeps, whatever belongs together.
    mutating func replace(by match: PaceMatch) {
        nature = match.nature
        mark = match.mark
        madeAt = match.madeAt
        isMessage = match.signal == .dm
        signal = match.signal
        mode = match.mode
        urgency = match.urgency
        expiresAt = match.expiresAt
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
