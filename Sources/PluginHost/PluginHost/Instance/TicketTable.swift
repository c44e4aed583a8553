import Core

/// The deliveries that a plugin has accepted and not ended. Pure: it knows no lock, clock or plugin.
///
/// Tickets are consecutive numbers with ascending deadlines, so only the oldest open ticket can be overdue.
struct TicketTable<Payload: Sendable>: Sendable {
    /// The result of ending a ticket.
    enum Completion: Sendable {
        case ended(Payload)
        /// The host had stopped waiting for it.
        case late
        /// Never issued, or already ended.
        case unknown
    }

    private struct Entry: Sendable {
        /// Nil when the host has stopped waiting.
        var payload: Payload?
        let deadline: Deadline
    }

    private var entries: [UInt64: Entry] = [:]
    /// The oldest ticket that the host waits for, or `next` if there is none.
    private var oldest: UInt64 = 1
    private var next: UInt64 = 1
    private var latest = Deadline.distantPast
    private let capacity: Int

    /// A table of at most `capacity` outstanding tickets.
    init(capacity: Int = 1 << 20) {
        self.capacity = capacity
    }

    /// Tickets that the plugin has not ended, including those that the host has stopped waiting for.
    var outstanding: Int { entries.count }

    /// Returns a new ticket that holds `payload` until `deadline`, or nil if too many are outstanding.
    mutating func open(_ payload: Payload, deadline: Deadline) -> UInt64? {
        guard entries.count < capacity else { return nil }
        // A clock that stepped back must not break the order.
        latest = oldest < next ? max(deadline, latest) : deadline
        let ticket = next
        next += 1
        entries[ticket] = Entry(payload: payload, deadline: latest)
        return ticket
    }

    /// Ends `ticket` for the plugin.
    mutating func end(_ ticket: UInt64) -> Completion {
        guard let entry = entries.removeValue(forKey: ticket) else { return .unknown }
        guard let payload = entry.payload else { return .late }
        skipEnded()
        return .ended(payload)
    }

    /// Expires tickets whose deadline is not after `now`. The plugin must still end them.
    mutating func expire(now: Deadline) -> [(ticket: UInt64, payload: Payload)] {
        var expired: [(ticket: UInt64, payload: Payload)] = []
        while let entry = entries[oldest], entry.deadline <= now, let payload = entry.payload {
            expired.append((oldest, payload))
            entries[oldest]?.payload = nil
            skipEnded()
        }
        return expired
    }

    /// The tickets that the host waits for, oldest first.
    var open: [UInt64] { entries.filter { $0.value.payload != nil }.keys.sorted() }

    /// The next deadline, or nil if no ticket is open.
    var nextDeadline: Deadline? { entries[oldest]?.deadline }

    private mutating func skipEnded() {
        while oldest < next, entries[oldest]?.payload == nil { oldest += 1 }
    }
}
