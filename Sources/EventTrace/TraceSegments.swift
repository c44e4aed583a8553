/// Which table the next entries go to, and which ones have had their time. A trace is some ten tables, so that what is old goes as
/// a whole and nothing has to be searched for what may go. Knows no database.
struct TraceSegments: Equatable {
    struct Segment: Equatable {
        let number: Int64
        /// Milliseconds since 1970.
        let beganAt: Int64
        var rows: Int
    }

    /// The oldest goes in tenths, so that up to a tenth less than its limits is kept.
    private static let count = 10
    /// Of a segment's rows what strangers can make of nothing takes one in so many: it shall not push the rest out.
    private static let strayShare = 10

    private let limits: TraceLimits
    /// The oldest first; the last one is written to.
    private(set) var segments: [Segment]
    /// In the last segment, since the start.
    private var strays = 0

    init(_ segments: [Segment] = [], limits: TraceLimits) {
        self.segments = segments
        self.limits = limits
    }

    private var segmentRows: Int { max(1, limits.rows / Self.count) }

    private var segmentAge: Int64 { max(1, limits.age / Int64(Self.count)) }

    /// Makes room for entries of the time `now`, in milliseconds since 1970. Says which segment takes how many of them, which one
    /// is to be made for that, and which ones are to go.
    mutating func makeRoom(at now: Int64) -> (segment: Segment, room: Int, begins: Bool, dropped: [Int64]) {
        var begins = false
        if segments.last.map({ isFull($0, at: now) }) ?? true {
            segments.append(Segment(number: (segments.last?.number ?? 0) + 1, beganAt: now, rows: 0))
            // Those that were admitted before there was any segment are in the first one.
            if segments.count > 1 { strays = 0 }
            begins = true
        }
        let last = segments[segments.count - 1]
        let expired = segments.dropLast().prefix { now - $0.beganAt >= limits.age }.count
        let surplus = max(expired, segments.count - Self.count)
        let dropped = segments.prefix(surplus).map(\.number)
        segments.removeFirst(surplus)
        return (last, segmentRows - last.rows, begins, dropped)
    }

    /// Lets go of what has had its time by `now`, the last segment too. Returns their numbers.
    mutating func expire(at now: Int64) -> [Int64] {
        let expired = segments.filter { now - $0.beganAt >= limits.age }.map(\.number)
        segments.removeAll { expired.contains($0.number) }
        if segments.isEmpty { strays = 0 }
        return expired
    }

    /// Whether there is room for one more entry that any stranger can cause as often as they like.
    mutating func admitsStray() -> Bool {
        guard strays < max(1, segmentRows / Self.strayShare) else { return false }
        strays += 1
        return true
    }

    mutating func add(_ rows: Int) {
        guard !segments.isEmpty else { return }
        segments[segments.count - 1].rows += rows
    }

    /// A clock that was put back begins a new one as well: else the segment would last until time has caught up.
    private func isFull(_ segment: Segment, at now: Int64) -> Bool {
        segment.rows >= segmentRows || now - segment.beganAt >= segmentAge || now < segment.beganAt
    }
}
