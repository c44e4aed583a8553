import Delivery
import Nostr
import Notifications
import Units

/// Matches that wait for each other and go as one push.
///
/// Where all of them count, it knows how many they are, and the disk keeps the notification of the first as long as it
/// is alone. Under a ``mark`` only the latest counts, and the disk keeps its notification.
package struct HeldGroup: Hashable, Sendable {
    /// Which of the device's groups it is; the disk knows it by that.
    let slot: UInt8
    var nature: PushNature
    /// Shared by matches that replace each other; nil: all count.
    var mark: Int64?
    /// When the event of the latest was made, in seconds since 1970; 0 where all count.
    var madeAt: Int64
    /// Direct messages may pass quiet hours, so they wait apart.
    var isMessage: Bool
    /// Whether it waits for the end of the window too.
    var hasOverflowed: Bool
    /// The owner of the device.
    let account: PublicKey
    /// Of the first member. The group's delivery is named after this event, so that a repeat after a crash is the same
    /// push.
    let event: EventID
    /// Of the first member, or of the latest where only that counts.
    var signal: Signal
    /// When the first member came.
    let since: Timestamp
    var count: UInt32
    /// The least strict one of its members', or the latest one's.
    var mode: Mode
    /// The highest one of its members'.
    var urgency: Urgency
    /// The latest one of its members', or that of the latest; see ``PaceMatch/expiresAt``.
    var expiresAt: Timestamp
    /// Whether another push used the turn that was this one's, too: it need not wait for the next. Not on disk.
    var isDue = false

    /// Groups that count: one for each nature, messages apart, and those that wait for the window's end apart.
    static let slotsOfBatches = 8
    /// Alerts with a mark that wait for a device at most; further ones are counted.
    static let slotsOfAlerts = 8
    /// Other pushes with a mark that wait for a device at most; a further one takes the place of the oldest.
    static let slotsOfOthers = HeldKey.slots - slotsOfBatches - slotsOfAlerts

    /// A group of one match.
    init(_ match: PaceMatch, slot: UInt8, _ account: PublicKey, hasOverflowed: Bool, at now: Timestamp) {
        self.slot = slot
        self.hasOverflowed = hasOverflowed
        self.account = account
        nature = match.nature
        mark = match.mark
        madeAt = match.mark == nil ? 0 : match.madeAt
        isMessage = match.signal == .dm
        event = match.event
        signal = match.signal
        since = now
        count = 1
        mode = match.mode
        urgency = match.urgency
        expiresAt = match.expiresAt
    }

    /// As the disk has it; nil when the row is not one that we wrote.
    init?(_ row: HeldRow) {
        guard let account = Bytes32(bytes: row.account), let event = Bytes32(bytes: row.event), row.count > 0 else {
            return nil
        }
        self.account = PublicKey(account)
        self.event = EventID(event)
        slot = row.key.slot
        nature = row.nature
        mark = row.mark
        madeAt = row.madeAt
        isMessage = row.isMessage
        hasOverflowed = row.hasOverflowed
        signal = row.signal
        since = row.since
        count = row.count
        mode = row.mode
        urgency = row.urgency
        expiresAt = row.expiresAt
    }

    /// What the disk keeps of it.
    func row(_ key: HeldKey, _ content: HeldRow.Content) -> HeldRow {
        HeldRow(
            key: key,
            account: account.bytes.array,
            event: event.bytes.array,
            isMessage: isMessage,
            hasOverflowed: hasOverflowed,
            signal: signal,
            mode: mode,
            urgency: urgency,
            count: count,
            since: since,
            expiresAt: expiresAt,
            content: content,
            nature: nature,
            mark: mark,
            madeAt: madeAt
        )
    }

    /// Whether its push is that of a member, and no count.
    var saysItself: Bool { mark != nil || count == 1 }

    /// Whether both are counts of the same sort, overflowed or not.
    func isOfSameSort(as other: HeldGroup) -> Bool {
        mark == nil && other.mark == nil && isMessage == other.isMessage && nature == other.nature
    }

    /// Whether its push shows that match.
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

    /// Lets another match take the place of the one it keeps, whatever their marks.
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

    /// Lets all of its members count.
    mutating func dropMark() { (mark, madeAt) = (nil, 0) }

    /// Whether all of its members have expired.
    func isExpired(at now: Timestamp) -> Bool { expiresAt > .epoch && expiresAt <= now }

    private mutating func add(count: UInt32, _ mode: Mode, _ urgency: Urgency, expiresAt: Timestamp) {
        // More than anybody would count.
        let (sum, overflow) = self.count.addingReportingOverflow(count)
        self.count = overflow ? .max : sum
        self.mode = max(self.mode, mode)
        self.expiresAt = self.expiresAt == .epoch || expiresAt == .epoch ? .epoch : max(self.expiresAt, expiresAt)
        if urgency.rawValue > self.urgency.rawValue { self.urgency = urgency }
    }
}
