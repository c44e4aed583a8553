import Nostr

/// One filter of a catch-up, read page after page.
struct SweepStage: Hashable, Sendable {
    /// Without a limit.
    let filter: Filter
    private let reading: Reading
    /// Events dated before that second are no news.
    private let newFrom: Int64
    /// Pages that are read at most.
    let pages: Int

    init(filter: Filter, reading: Reading, newFrom: Int64 = .min, pages: Int) {
        self.filter = filter
        self.reading = reading
        self.newFrom = newFrom
        self.pages = pages
    }

    /// How an event is read that is dated `seconds`.
    func reading(at seconds: Int64) -> Reading { seconds < newFrom ? .baseline : reading }

    /// Whether an event is of the kinds and the time asked for.
    func covers(_ event: ScannedEvent) -> Bool {
        filter.kinds?.contains(event.kind) ?? true && event.createdAt >= filter.since ?? .min
            && event.createdAt <= filter.until ?? .max
    }

    /// Whether both may be asked for by one REQ.
    ///
    /// No event may be of the kinds and the time of both, so that one that comes can be told to be for which. What
    /// makes events old is asked for apart: an event of these days that comes while that is open would be taken for one
    /// of them.
    func goes(with other: SweepStage) -> Bool {
        isOfNewEvents == other.isOfNewEvents && isApart(from: other)
    }

    /// Whether all of it is news.
    var isOfNewEvents: Bool { reading != .baseline && newFrom == .min }

    private func isApart(from other: SweepStage) -> Bool {
        if let kinds = filter.kinds, let others = other.filter.kinds, kinds.isDisjoint(with: others) { return true }
        return filter.until ?? .max < other.filter.since ?? .min || other.filter.until ?? .max < filter.since ?? .min
    }
}

/// What is read by one REQ at a time: one stage page after page, or the first pages of several.
struct SweepStep: Sendable {
    private(set) var pagings: [Paging]
    /// Something came that is of none of several stages.
    private var hasStrays = false

    init(_ pagings: [Paging]) {
        self.pagings = pagings
    }

    var filters: [Filter] { pagings.map(\.filter) }
    var isOfSeveral: Bool { pagings.count > 1 }
    /// The length of the REQ.
    var length: Int { pagings.reduce(0) { $0 + $1.stage.filter.estimatedLength } }

    /// Packs stages into as few steps as keep that length, and whose stages go together.
    static func pack(_ stages: [SweepStage], limit: Int, within length: Int) -> [SweepStep] {
        var steps: [SweepStep] = []
        for stage in stages {
            let paging = Paging(stage, limit: limit)
            if let last = steps.last, last.length + stage.filter.estimatedLength <= length,
                last.pagings.allSatisfy({ $0.stage.goes(with: stage) })
            {
                steps[steps.count - 1].pagings.append(paging)
            } else {
                steps.append(SweepStep([paging]))
            }
        }
        return steps
    }

    /// How an event of this page is to be read; nil if it is not wanted.
    mutating func reading(of event: ScannedEvent) -> Reading? {
        guard let place = isOfSeveral ? pagings.firstIndex(where: { $0.stage.covers(event) }) : pagings.indices.first
        else {
            hasStrays = true
            return nil
        }
        return pagings[place].takes(event) ? pagings[place].stage.reading(at: event.createdAt) : nil
    }

    /// Prepares for the page coming once more, since it did not come to its end.
    mutating func beginPageAgain() {
        hasStrays = false
        for place in pagings.indices { pagings[place].beginPageAgain() }
    }

    /// Ends the page; returns what is left to read, and how often events turned out to be out of reach.
    ///
    /// Of several stages, a page without any event is the last of all. Otherwise a relay may have left out those of one
    /// stage for those of another: the ones that brought none are asked for again without those that did.
    consuming func endPage() -> (steps: [SweepStep], unread: Int) {
        let silent = isOfSeveral ? pagings.filter { $0.seen == 0 } : []
        guard !isOfSeveral || hasStrays || silent.count < pagings.count else { return ([], 0) }
        var steps = hasStrays ? silent.map { SweepStep([$0]) } : silent.isEmpty ? [] : [SweepStep(silent)]
        var unread = 0
        for var paging in pagings where !isOfSeveral || paging.seen > 0 {
            let end = paging.nextPage()
            unread += end.unread
            if end.follows { steps.append(SweepStep([paging])) }
        }
        return (steps, unread)
    }

    /// The same with a step for each stage, for a relay that will not be asked for several.
    func separated() -> [SweepStep] { pagings.map { SweepStep([$0]) } }
}
