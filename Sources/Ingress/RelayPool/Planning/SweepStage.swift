import Nostr

/// One filter of a catch-up, read page after page.
struct SweepStage: Hashable, Sendable {
    /// Without a limit.
    let filter: Filter
    private let reading: Reading
    /// Events dated before that second are no news.
    private let newsFrom: Int64
    /// Pages that are read at most.
    let pages: Int

    init(filter: Filter, reading: Reading, newsFrom: Int64 = .min, pages: Int) {
        self.filter = filter
        self.reading = reading
        self.newsFrom = newsFrom
        self.pages = pages
    }

    /// How an event is read that is dated `seconds`.
    func reading(at seconds: Int64) -> Reading { seconds < newsFrom ? .baseline : reading }

    /// Whether an event is of the kinds and the time asked for.
    func covers(_ event: ScannedEvent) -> Bool {
        filter.kinds?.contains(event.kind) ?? true && event.createdAt >= filter.since ?? .min
            && event.createdAt <= filter.until ?? .max
    }

    /// Whether both may be asked for by one REQ.
    ///
    /// No event may be of the kinds and the time of both, so that one that comes can be told to be for which. What makes events old
    /// is asked for apart: an event of these days that comes while that is open would be taken for one of them.
    func goes(with other: SweepStage) -> Bool {
        isOfNews == other.isOfNews && isApart(from: other)
    }

    /// Whether all of it is news.
    var isOfNews: Bool { reading != .baseline && newsFrom == .min }

    private func isApart(from other: SweepStage) -> Bool {
        if let kinds = filter.kinds, let others = other.filter.kinds, kinds.isDisjoint(with: others) { return true }
        return filter.until ?? .max < other.filter.since ?? .min || other.filter.until ?? .max < filter.since ?? .min
    }
}
