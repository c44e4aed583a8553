/// How long to wait for somebody who did not say how long: twice as long each time, up to a limit. Milliseconds.
struct GrowingPause: Sendable {
    let first: Int64
    let longest: Int64
    private var upcoming: Int64

    init(first: Int64, longest: Int64) {
        self.first = min(first, longest)
        self.longest = longest
        upcoming = self.first
    }

    mutating func next() -> Int64 {
        defer { upcoming = min(upcoming * 2, longest) }
        return upcoming
    }

    mutating func reset() { upcoming = first }
}
