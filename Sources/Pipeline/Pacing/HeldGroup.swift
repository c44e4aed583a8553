import Core
import Delivery
import Nostr
import Push

/// Matches that wait for each other and go as one push.
///
/// Where all of them count, it knows how many they are. Under a ``mark`` only the latest counts. The disk keeps the
/// notifications of a few ``members``: one is sent as itself when its author's others, or everybody's, are deleted.
package struct HeldGroup: Hashable, Sendable {
    /// One of its events, with what it adds to the group.
    struct Member: Hashable, Sendable {
        /// Among the device's held events; the disk knows it by that.
        let number: UInt8
        let event: EventID
        let signal: Signal
        let mode: Mode
        let urgency: Urgency
        let expiresAt: Timestamp
        let madeAt: Int64

        init(_ match: PaceMatch, _ number: UInt8) {
            self.number = number
            event = match.event
            signal = match.signal
            mode = match.mode
            urgency = match.urgency
            expiresAt = match.expiresAt
            madeAt = match.mark == nil ? 0 : match.madeAt
        }

        /// As the disk has it; nil when the row is not one that we wrote.
        init?(_ row: HeldMember) {
            guard let event = Bytes32(bytes: row.event) else { return nil }
            number = row.key.number
            self.event = EventID(event)
            signal = row.held.notification.signal
            mode = row.mode
            urgency = row.held.notification.urgency
            expiresAt = row.expiresAt
            madeAt = row.madeAt
        }

        func row(_ key: HeldMemberKey, _ held: HeldNotification) -> HeldMember {
            HeldMember(key: key, event: event.bytes.array, mode: mode, expiresAt: expiresAt, madeAt: madeAt, held)
        }
    }

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
    /// Those of its events that are known, in the order in which they came: the first ones, or the latest where only
    /// the latest counts.
    private(set) var members: [Member]
    /// Whether another push used the turn that was this one's, too: it need not wait for the next. Not on disk.
    var isDue = false

    /// Groups that count: one for each nature, messages apart, and those that wait for the window's end apart.
    static let slotsOfBatches = 8
    /// Alerts with a mark that wait for a device at most; further ones are counted.
    static let slotsOfAlerts = 8
    /// Other pushes with a mark that wait for a device at most; a further one takes the place of the oldest.
    static let slotsOfOthers = HeldKey.slots - slotsOfBatches - slotsOfAlerts

    /// So many events of a group are known at most: all groups together have one number for each.
    static let mostMembers = 256 / HeldKey.slots

    /// A group of one match, which gets a number.
    init(
        _ match: PaceMatch,
        _ number: UInt8,
        slot: UInt8,
        _ account: PublicKey,
        hasOverflowed: Bool,
        at now: Timestamp
    ) {
        self.slot = slot
        members = [Member(match, number)]
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

    /// As the disk has it, with those of `members` that are its own; nil when the row is not one that we wrote.
    init?(_ row: HeldRow, _ members: [UInt8: Member] = [:]) {
        guard let account = Bytes32(bytes: row.account), let event = Bytes32(bytes: row.event), row.count > 0 else {
            return nil
        }
        self.account = PublicKey(account)
        self.event = EventID(event)
        slot = row.key.slot
        self.members = row.members.prefix(Self.mostMembers).compactMap { members[$0] }
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
    func row(of device: DeviceID) -> HeldRow {
        HeldRow(
            key: HeldKey(device: device, slot: slot),
            members: members.map(\.number),
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

    /// The event that its push is about, if it is about one; nil: that one is not known.
    var shown: Member? { mark == nil ? count == 1 ? members.first : nil : latest }

    func member(_ event: EventID) -> Member? { members.first { $0.event == event } }

    /// One more match, which gets a number; nil: there is none left.
    mutating func add(_ match: PaceMatch, _ number: UInt8?) {
        guard mark != nil else {
            if let number, members.count < Self.mostMembers { members.append(Member(match, number)) }
            return add(count: 1, match.mode, match.urgency, expiresAt: match.expiresAt)
        }
        countOne()
        if let number { members.append(Member(match, number)) }
        if members.count > Self.mostMembers {
            members.indices.min { members[$0].madeAt < members[$1].madeAt }.map { _ = members.remove(at: $0) }
        }
        // Relays bring stored events newest first.
        if match.madeAt >= madeAt { replace(by: match) }
    }

    mutating func add(_ other: HeldGroup) {
        members += other.members.prefix(max(0, Self.mostMembers - members.count))
        add(count: other.count, other.mode, other.urgency, expiresAt: other.expiresAt)
    }

    /// Takes a deleted event out. False where that changes nothing: it gave way to a later one long ago.
    mutating func remove(_ event: EventID) -> Bool {
        if let place = members.firstIndex(where: { $0.event == event }) {
            members.remove(at: place)
        } else if mark != nil {
            return false
        }
        count -= 1
        guard !isEmpty else { return true }
        if mark != nil {
            if let latest { show(latest) }
        } else if members.count == Int(count) {
            // Deleted events no longer count.
            let known = members
            show(known[0])
            count = 1
            for member in known.dropFirst() {
                add(count: 1, member.mode, member.urgency, expiresAt: member.expiresAt)
            }
        }
        return true
    }

    /// Whether there is nothing left to push.
    var isEmpty: Bool { count == 0 || (mark != nil && members.isEmpty) }

    /// The member that counts where only the latest does.
    private var latest: Member? {
        members.reduce(nil) { latest, next in latest.map { $0.madeAt > next.madeAt } ?? false ? latest : next }
    }

    private mutating func show(_ member: Member) {
        (signal, mode, urgency, expiresAt) = (member.signal, member.mode, member.urgency, member.expiresAt)
        madeAt = mark == nil ? 0 : member.madeAt
    }

    /// One more match that is part of it.
    private mutating func countOne() {
        // More than anybody would count.
        if count < .max { count += 1 }
    }

    /// Lets a match of another mark take the place of all that it keeps.
    mutating func giveWay(to match: PaceMatch, _ number: UInt8) {
        countOne()
        members = [Member(match, number)]
        replace(by: match)
    }

    private mutating func replace(by match: PaceMatch) {
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
