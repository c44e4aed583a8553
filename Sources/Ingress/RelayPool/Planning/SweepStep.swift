import Nostr

/// One filter of a catch-up, read page after page.
struct SweepStage: Hashable, Sendable {
    /// Without a limit.
    let filter: Filter
    private let reading: Reading
    /// Events dated before that second are not new.
    private let newFrom: Int64
    /// Pages that are read at most.
    let pages: Int

    init(filter: Filter, reading: Reading, newFrom: Int64 = .min, pages: Int) {
        self.filter = filter
        self.reading = reading
        self.newFrom = newFrom
        self.pages = pages
    }

    /// The reading of an event that is dated `seconds`.
    func reading(at seconds: Int64) -> Reading { seconds < newFrom ? .baseline : reading }

    /// Whether an event is of the kinds and the time asked for.
    func covers(_ event: ScannedEvent) -> Bool {
        filter.kinds?.contains(event.kind) ?? true && event.createdAt >= filter.since ?? .min
            && event.createdAt <= filter.until ?? .max
    }

    /// Whether one REQ may ask for both.
    ///
    /// No event may match the kinds and the time of both, so that each event belongs to one of them. A stage for old
    /// events has a REQ of its own: a new event that comes meanwhile would be taken for an old one.
    func goes(with other: SweepStage) -> Bool {
        isOfNewEvents == other.isOfNewEvents && isApart(from: other)
    }

    /// Whether all its events are new.
    var isOfNewEvents: Bool { reading != .baseline && newFrom == .min }

    private func isApart(from other: SweepStage) -> Bool {
        if let kinds = filter.kinds, let others = other.filter.kinds, kinds.isDisjoint(with: others) { return true }
        return filter.until ?? .max < other.filter.since ?? .min || other.filter.until ?? .max < filter.since ?? .min
    }
}

/// What is read by one REQ at a time: one stage page after page, or the first pages of several.
struct SweepStep: Sendable {
    private(set) var pagings: [Paging]
    /// An event came that belongs to none of several stages.
    private var hasStrays = false

    init(_ pagings: [Paging]) {
        self.pagings = pagings
    }

    var filters: [Filter] { pagings.map(\.filter) }
    var isOfSeveral: Bool { pagings.count > 1 }
    /// The length of the REQ.
    var length: Int { pagings.reduce(0) { $0 + $1.stage.filter.estimatedLength } }

    /// Packs stages that go together into as few steps as possible, none longer than `length`.
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

    /// Prepares to read the page again, because it was interrupted.
    mutating func beginPageAgain() {
        hasStrays = false
        for place in pagings.indices { pagings[place].beginPageAgain() }
    }

    /// Ends the page. Returns what is left to read, and how often events could not be read.
    ///
    /// With several stages, a page without any event is the last of all. Otherwise a relay may have left out the events
    /// of one stage in favour of another: stages without events are asked for again, without those that had some.
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

    /// The same with a step for each stage, for a relay that refuses several filters.
    func separated() -> [SweepStep] { pagings.map { SweepStep([$0]) } }
}
