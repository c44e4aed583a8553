import Units

/// Places of keys that wait to be read for, those with the oldest moments first.
struct ReadingQueue: Sendable {
    private struct Waiting: Sendable {
        let place: UInt32
        let moment: Int64
    }

    /// The oldest last, if sorted.
    private var waiting: [Waiting] = []
    private var isSorted = true

    var isEmpty: Bool { waiting.isEmpty }

    /// `moment` is in seconds since 1970.
    mutating func append(_ place: UInt32, moment: Int64) {
        if let last = waiting.last, last.moment < moment { isSorted = false }
        waiting.append(Waiting(place: place, moment: moment))
    }

    mutating func removeAll() {
        waiting = []
        isSorted = true
    }

    /// Removes the oldest places whose moments lie within `span`: what is read for one of them is read for all.
    mutating func next(atMost count: Int, within span: Duration) -> [UInt32] {
        if !isSorted {
            waiting.sort { $0.moment > $1.moment }
            isSorted = true
        }
        guard let first = waiting.last?.moment else { return [] }
        var places: [UInt32] = []
        while places.count < count, let next = waiting.last, next.moment - first <= span.seconds {
            places.append(next.place)
            waiting.removeLast()
        }
        return places
    }
}
