import Units

/// Decides which table the next entries go to, and which tables have expired. A trace is some ten tables, so that old
/// entries go as a whole and no search is needed. Knows no database.
///
/// An owner of many entries has the further ones in tables of the crowd. Where there are too many in all, the larger
/// part gives way: so a few owners cannot push out the entries of everybody else.
struct TraceSegments: Equatable {
    struct Segment: Equatable {
        let number: Int64
        let beganAt: Timestamp
        var rows: Int
        /// Whether it is for owners of many entries.
        var isOfCrowd = false
    }

    /// The oldest goes in tenths, so that up to a tenth less than its limits is kept.
    private static let count = 10
    /// Stray entries, which strangers cause at will, get one row in that many of a segment: they must not push the rest
    /// out.
    private static let strayShare = 10
    /// One owner gets one row in that many of a segment; their further entries go to the crowd's.
    private static let ownerShare = 20

    private let limits: TraceLimits
    /// In the order in which they began. The last one of each kind is written to.
    private(set) var segments: [Segment]
    /// In the last segment that is not the crowd's, since the start.
    private var strays = 0
    /// The same by owner.
    private var entries: [TraceEntry.Owner: Int] = [:]

    init(_ segments: [Segment] = [], limits: TraceLimits) {
        self.segments = segments
        self.limits = limits
    }

    private var segmentRows: Int { max(1, limits.rows / Self.count) }

    private var segmentAge: Duration { max(.milliseconds(1), limits.age / Self.count) }

    /// Makes room for that many entries, or a whole segment, of the time `now`. Returns the
    /// segment that takes them, how many it takes, whether it has to be made, and the segments that have to go.
    mutating func makeSpace(
        for count: Int = .max,
        ofCrowd: Bool = false,
        at now: Timestamp
    ) -> (segment: Segment, room: Int, begins: Bool, dropped: [Int64]) {
        var last = segments.last { $0.isOfCrowd == ofCrowd }
        let begins = last.map { isFull($0, at: now) } ?? true
        if begins {
            // Those that were admitted before there was any segment are in the first one.
            if last != nil, !ofCrowd { forgetOwners() }
            last = Segment(number: (segments.last?.number ?? 0) + 1, beganAt: now, rows: 0, isOfCrowd: ofCrowd)
            if let last { segments.append(last) }
        }
        let segment = last ?? Segment(number: 0, beganAt: now, rows: 0)
        let room = segmentRows - segment.rows
        return (segment, room, begins, dropOld(at: now, for: min(count, room)))
    }

    /// Removes segments that have expired by `now`, the last ones too. Returns their numbers.
    mutating func expire(at now: Timestamp) -> [Int64] {
        let expired = segments.filter { now - $0.beganAt >= limits.age }.map(\.number)
        segments.removeAll { expired.contains($0.number) }
        if segments.isEmpty { forgetOwners() }
        return expired
    }

    /// Whether there is room for one more stray entry.
    mutating func admitsStray() -> Bool {
        guard strays < max(1, segmentRows / Self.strayShare) else { return false }
        strays += 1
        return true
    }

    /// Whether one more entry of `owner` goes to the crowd's.
    mutating func belongsToCrowd(_ owner: TraceEntry.Owner) -> Bool {
        let most = max(1, segmentRows / Self.ownerShare)
        return Self.isAtLimit(&entries[owner, default: 0], most)
    }

    /// Counts one more unless there are `most` already.
    private static func isAtLimit(_ count: inout Int, _ most: Int) -> Bool {
        guard count < most else { return true }
        count += 1
        return false
    }

    /// That many rows were written to that segment.
    mutating func add(_ rows: Int, to number: Int64) {
        guard let index = segments.firstIndex(where: { $0.number == number }) else { return }
        segments[index].rows += rows
    }

    private mutating func forgetOwners() {
        strays = 0
        entries.removeAll(keepingCapacity: true)
    }

    /// Removes segments that are no longer written to and too old, or too many once there are `count` more rows.
    /// Returns their numbers.
    private mutating func dropOld(at now: Timestamp, for count: Int) -> [Int64] {
        let current = [false, true].compactMap { kind in segments.last { $0.isOfCrowd == kind } }
        let past = segments.filter { segment in !current.contains { $0.number == segment.number } }
        var kept = past.filter { now - $0.beganAt < limits.age }
        let room = limits.rows - count - current.reduce(0) { $0 + $1.rows }
        // A clock that is put back again and again begins many short ones.
        while kept.count > 2 * Self.count || kept.reduce(0, { $0 + $1.rows }) > room {
            let crowd = kept.reduce(0) { $0 + ($1.isOfCrowd ? $1.rows : 0) }
            let rest = kept.reduce(0) { $0 + ($1.isOfCrowd ? 0 : $1.rows) }
            kept.remove(at: kept.firstIndex { $0.isOfCrowd == (crowd >= rest) } ?? 0)
        }
        let dropped = past.map(\.number).filter { number in !kept.contains { $0.number == number } }
        segments.removeAll { dropped.contains($0.number) }
        return dropped
    }

    /// A clock that was put back begins a new one as well: otherwise the segment would last until time has caught up.
    private func isFull(_ segment: Segment, at now: Timestamp) -> Bool {
        segment.rows >= segmentRows || now - segment.beganAt >= segmentAge || now < segment.beganAt
    }
}

/// How much is kept of what became of events.
package struct TraceLimits: Sendable, Hashable {
    package static let rowRange = 1_000...100_000_000
    package static let dayRange = 1...365
    /// In hours.
    package static let keptEventsRange = 0...168

    /// Entries at most; the oldest tenth goes for newer ones.
    package var rows: Int
    /// How long an entry is kept at most.
    package var days: Int
    /// How long whole events are kept for `carillon rules diff`; nil: none is.
    package var keptEvents: Duration?

    package init(rows: Int = 500_000, days: Int = 7, keptEvents: Duration? = nil) {
        self.rows = rows
        self.days = days
        self.keptEvents = keptEvents
    }

    package var age: Duration { .days(days) }
}
