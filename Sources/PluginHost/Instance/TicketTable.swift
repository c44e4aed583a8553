import Units

/// The deliveries that a plugin has accepted and not ended: a pure structure that knows no lock, clock or plugin.
///
/// A ticket is a slot's number and how often the slot was used, so it is found without hashing and never repeats.
/// Deadlines are handed out in order, so the open tickets form a list, and only its head can be due.
struct TicketTable<Payload: Sendable>: Sendable {
    /// What ending a ticket came to.
    enum End: Sendable {
        case ended(Payload)
        /// The host had stopped waiting for it.
        case late
        /// Never given out, or ended before.
        case unknown
    }

    private enum Content {
        case free
        case open(Payload)
        case expired
    }

    private struct Slot {
        var content: Content = .free
        var use: UInt64 = 0
        var deadline = Deadline.distantPast
        /// Neighbours in the list of open tickets.
        var previous: Int?
        var next: Int?
    }

    private static var slotBits: UInt64 { 20 }

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var oldest: Int?
    private var newest: Int?
    private let capacity: Int
    private let lastUse: UInt64

    /// Tickets that the plugin still owes an end, whether the host waits for it or not.
    private(set) var outstanding = 0

    /// - Parameters:
    ///   - capacity: How many may be outstanding at once, at most 2^20.
    ///   - usesOfASlot: How often a slot may serve before it is retired, so that no ticket repeats.
    init(capacity: Int = 1 << 20, usesOfASlot: UInt64 = 1 << 44 - 1) {
        self.capacity = min(capacity, 1 << Int(Self.slotBits))
        lastUse = min(usesOfASlot, 1 << 44 - 1)
    }

    /// A new ticket that holds `payload` until `deadline`, or nil when too many are outstanding.
    mutating func open(_ payload: Payload, deadline: Deadline) -> UInt64? {
        let index: Int
        if let free = freeSlots.popLast() {
            index = free
        } else if slots.count < capacity {
            index = slots.count
            slots.append(Slot())
        } else {
            return nil
        }
        slots[index].content = .open(payload)
        slots[index].use += 1
        // A clock that stepped back must not break the order of the list.
        slots[index].deadline = max(deadline, newest.map { slots[$0].deadline } ?? deadline)
        append(index)
        outstanding += 1
        return slots[index].use << Self.slotBits | UInt64(index)
    }

    /// Ends `ticket` as the plugin asked.
    mutating func end(_ ticket: UInt64) -> End {
        guard let index = slot(of: ticket) else { return .unknown }
        // Taken out, as a copy would count references up and down.
        var content = Content.free
        swap(&content, &slots[index].content)
        switch consume content {
        case .free: return .unknown
        case .expired:
            release(index)
            return .late
        case .open(let payload):
            unlink(index)
            release(index)
            return .ended(payload)
        }
    }

    /// Stops waiting for tickets whose deadline is not after `now`. The plugin still owes them an end.
    mutating func expire(now: Deadline) -> [(ticket: UInt64, payload: Payload)] {
        var expired: [(ticket: UInt64, payload: Payload)] = []
        while let index = oldest, slots[index].deadline <= now, case .open(let payload) = slots[index].content {
            unlink(index)
            slots[index].content = .expired
            expired.append((slots[index].use << Self.slotBits | UInt64(index), payload))
        }
        return expired
    }

    /// The tickets that the host waits for, oldest first.
    var open: [UInt64] {
        var tickets: [UInt64] = []
        var cursor = oldest
        while let index = cursor {
            tickets.append(slots[index].use << Self.slotBits | UInt64(index))
            cursor = slots[index].next
        }
        return tickets
    }

    /// The next deadline, or nil when nothing is open.
    var nextDeadline: Deadline? { oldest.map { slots[$0].deadline } }

    private func slot(of ticket: UInt64) -> Int? {
        let index = Int(ticket & (1 << Self.slotBits - 1))
        guard index < slots.count, slots[index].use == ticket >> Self.slotBits else { return nil }
        return index
    }

    private mutating func release(_ index: Int) {
        outstanding -= 1
        if slots[index].use < lastUse { freeSlots.append(index) }
    }

    private mutating func append(_ index: Int) {
        slots[index].previous = newest
        slots[index].next = nil
        if let newest { slots[newest].next = index } else { oldest = index }
        newest = index
    }

    private mutating func unlink(_ index: Int) {
        let previous = slots[index].previous
        let next = slots[index].next
        if let previous { slots[previous].next = next } else { oldest = next }
        if let next { slots[next].previous = previous } else { newest = previous }
        slots[index].previous = nil
        slots[index].next = nil
    }
}
