import Core
import Delivery
import Nostr
import Push

/// Matches that are held together and sent as one push.
///
/// A counted group knows the number of its matches. In a group with a ``mark`` only the latest match counts. The disk
/// stores the notifications of a few ``members``: if all other events are deleted, the remaining one is sent itself.
package struct HeldGroup: Hashable, Sendable {
    /// One event of the group, with its effects on the group.
    struct Member: Hashable, Sendable {
        /// The number among the device's held events, which identifies it on disk.
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

        /// Reads a stored row; nil if the row is invalid.
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

    /// The slot among the device's groups, which identifies it on disk.
    let slot: UInt8
    var nature: PushNature
    /// The ``PaceMatch/mark`` of its matches, of which only the latest counts; nil if all count.
    var mark: Int64?
    /// When the latest event was made, in seconds since 1970; 0 in a counted group.
    var madeAt: Int64
    /// Direct messages have separate groups, because they may pass quiet hours.
    var isMessage: Bool
    /// Whether it must also wait for the end of the window.
    var hasOverflowed: Bool
    /// The owner of the device.
    let account: PublicKey
    /// The first member's event. The group's delivery is named after it, so that a repeat after a crash is the same
    /// push.
    let event: EventID
    /// The signal of the first member, or of the latest in a group with a mark.
    var signal: Signal
    /// When the first member arrived.
    let since: Timestamp
    var count: UInt32
    /// The least strict mode of its members, or the latest member's.
    var mode: Mode
    /// The highest urgency of its members.
    var urgency: Urgency
    /// The latest expiry of its members, or the latest member's; see ``PaceMatch/expiresAt``.
    var expiresAt: Timestamp
    /// The known events in order of arrival: the first ones, or in a group with a mark the latest ones.
    private(set) var members: [Member]
    /// Whether another push used this group's turn, so that it need not wait for the next. Not on disk.
    var isDue = false

    /// Slots for counted groups: one for each nature, with separate ones for messages and for groups that wait for the
    /// window's end.
    static let slotsOfBatches = 8
    /// Slots for alerts with a mark. Additional alerts are counted.
    static let slotsOfAlerts = 8
    /// Slots for other pushes with a mark. An additional one replaces the oldest.
    static let slotsOfOthers = HeldKey.slots - slotsOfBatches - slotsOfAlerts

    /// The maximum number of known events in a group, because all groups share the numbers.
    static let maxMembers = 256 / HeldKey.slots

    /// Creates a group of one match with a number.
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

    /// Reads a stored row and its members among `members`. Nil if the row is invalid.
    init?(_ row: HeldRow, _ members: [UInt8: Member] = [:]) {
        guard let account = Bytes32(bytes: row.account), let event = Bytes32(bytes: row.event), row.count > 0 else {
            return nil
        }
        self.account = PublicKey(account)
        self.event = EventID(event)
        slot = row.key.slot
        self.members = row.members.prefix(Self.maxMembers).compactMap { members[$0] }
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

    /// The row to store.
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

    /// Whether its push is about a single event.
    var isSingleEvent: Bool { mark != nil || count == 1 }

    /// Whether both are counted groups of the same kind, overflowed or not.
    func isOfSameSort(as other: HeldGroup) -> Bool {
        mark == nil && other.mark == nil && isMessage == other.isMessage && nature == other.nature
    }

    /// The event that its push shows; nil if the push is a count or the event is not known.
    var shown: Member? { mark == nil ? count == 1 ? members.first : nil : latest }

    func member(_ event: EventID) -> Member? { members.first { $0.event == event } }

    /// Adds a match with a number, or with nil if no number is free.
    mutating func add(_ match: PaceMatch, _ number: UInt8?) {
        guard mark != nil else {
            if let number, members.count < Self.maxMembers { members.append(Member(match, number)) }
            return add(count: 1, match.mode, match.urgency, expiresAt: match.expiresAt)
        }
        countOne()
        if let number { members.append(Member(match, number)) }
        if members.count > Self.maxMembers {
            members.indices.min { members[$0].madeAt < members[$1].madeAt }.map { _ = members.remove(at: $0) }
        }
        // Relays send stored events newest first.
        if match.madeAt >= madeAt { replace(by: match) }
    }

    mutating func add(_ other: HeldGroup) {
        members += other.members.prefix(max(0, Self.maxMembers - members.count))
        add(count: other.count, other.mode, other.urgency, expiresAt: other.expiresAt)
    }

    /// Removes a deleted event. Returns false if that changes nothing, because a later event replaced it.
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

    /// Whether no push is left.
    var isEmpty: Bool { count == 0 || (mark != nil && members.isEmpty) }

    /// The member that counts in a group with a mark.
    private var latest: Member? {
        members.reduce(nil) { latest, next in latest.map { $0.madeAt > next.madeAt } ?? false ? latest : next }
    }

    private mutating func show(_ member: Member) {
        (signal, mode, urgency, expiresAt) = (member.signal, member.mode, member.urgency, member.expiresAt)
        madeAt = mark == nil ? 0 : member.madeAt
    }

    /// Counts one more match.
    private mutating func countOne() {
        // Stops at the maximum.
        if count < .max { count += 1 }
    }

    /// Replaces its members with a match of another mark.
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

    /// Turns it into a counted group.
    mutating func dropMark() { (mark, madeAt) = (nil, 0) }

    /// Whether all of its members have expired.
    func isExpired(at now: Timestamp) -> Bool { expiresAt > .epoch && expiresAt <= now }

    private mutating func add(count: UInt32, _ mode: Mode, _ urgency: Urgency, expiresAt: Timestamp) {
        // Stops at the maximum.
        let (sum, overflow) = self.count.addingReportingOverflow(count)
        self.count = overflow ? .max : sum
        self.mode = max(self.mode, mode)
        self.expiresAt = self.expiresAt == .epoch || expiresAt == .epoch ? .epoch : max(self.expiresAt, expiresAt)
        if urgency.rawValue > self.urgency.rawValue { self.urgency = urgency }
    }
}

/// An index of held events and their groups, for finding events that their author deletes. It is in memory and bounded.
/// After a restart it knows only the members of held groups.
struct HeldMatches {
    struct Place: Hashable {
        let device: DeviceID
        /// The event that its group is named after.
        var first: EventID
    }

    struct Match {
        /// Nil until the event's signer is known.
        var origin: EventOrigin?
        var places: Set<Place> = []
        /// The event by the same author that was held before this one.
        fileprivate var previous: EventID?
    }

    private static let capacity = 100_000

    private var matches = BoundedCache<EventID, Match>(capacity: capacity)
    /// The last held event of each author, because a deletion may name no event.
    private var latest = BoundedCache<SIMD4<UInt64>, EventID>(capacity: capacity)
    /// Merged groups, with the event that their new group is named after.
    private var merged = BoundedCache<Place, EventID>(capacity: capacity)

    func contains(_ event: EventID) -> Bool { matches.contains(event) }

    /// Adds an event that is held in a device's group.
    mutating func add(_ event: EventID, of device: DeviceID, in group: HeldGroup) {
        var match = matches.value(of: event) ?? Match()
        match.places.insert(Place(device: device, first: group.event))
        matches.set(match, for: event)
    }

    /// Records the signer of an event if it is held.
    mutating func sign(_ event: EventID, _ origin: EventOrigin) {
        guard var match = matches.value(of: event), match.origin == nil else { return }
        match.origin = origin
        match.previous = latest.value(of: origin.author)
        matches.set(match, for: event)
        latest.set(event, for: origin.author)
    }

    /// Records that a device's group was merged into another one.
    mutating func merge(_ first: EventID, into other: EventID, of device: DeviceID) {
        merged.set(other, for: Place(device: device, first: first))
    }

    /// The held events that a deletion names. `context` knows the signers of some events whose authors are not known
    /// here.
    mutating func events(of deletion: Deletion, _ context: inout EventContext) -> [EventID] {
        let author = SIMD4(deletion.author.bytes)
        var events = deletion.ids.filter { id in
            guard let match = matches.value(of: id) else { return false }
            return match.origin.map { $0.author == author } ?? (context.authors(of: id)?.first == deletion.author)
        }
        let withdrawals = deletion.withdrawalsWithoutIDs
        guard !withdrawals.isEmpty else { return Array(events) }
        // An event that was forgotten and held again may occur twice.
        var seen: Set<EventID> = []
        var next = latest.value(of: author)
        while let event = next, seen.insert(event).inserted, let match = matches.value(of: event) {
            if let origin = match.origin, withdrawals.contains(where: { $0.covers(origin) }) { events.insert(event) }
            next = match.previous
        }
        return Array(events)
    }

    /// Removes an event and returns its places.
    mutating func take(_ event: EventID) -> Set<Place> {
        guard var match = matches.value(of: event) else { return [] }
        defer {
            match.places = []
            matches.set(match, for: event)
        }
        return Set(match.places.map { present($0) })
    }

    /// The current place of a group that may have been merged.
    private mutating func present(_ place: Place) -> Place {
        var place = place
        for _ in 0..<HeldKey.slots {
            guard let other = merged.value(of: place) else { break }
            place.first = other
        }
        return place
    }
}
