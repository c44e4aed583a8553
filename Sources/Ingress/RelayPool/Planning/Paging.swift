import Nostr

/// Reads what a filter matches page after page, from the newest to the oldest, at relays that keep to NIP-01 and at others.
///
/// A page is asked for up to the second of the oldest event before, inclusive, since further events may share it. It is the
/// last when it brings nothing new, however few or many there were: what a relay caps a page to need not be what was asked for.
struct Paging: Hashable, Sendable {
    let stage: SweepStage
    private let limit: Int
    private var until: Int64?
    /// The oldest second seen, and the events seen of it.
    private var oldest: Int64?
    private var border: Set<EventID> = []
    private var pagesLeft: Int
    /// What the relay seems to cap a page to.
    private var largestPage = 0
    /// Events taken from pages that ended.
    private var taken = 0

    private(set) var seen = 0
    private var new = 0
    /// Whether each event of this page is of the second asked for.
    private var isOneSecond = true
    private var ignoresUntil = false

    init(_ stage: SweepStage, limit: Int) {
        self.stage = stage
        self.limit = max(1, limit)
        until = stage.filter.until
        pagesLeft = max(1, stage.pages)
    }

    /// The filter for the page that is read now.
    var filter: Filter {
        var filter = stage.filter
        filter.until = until
        filter.limit = limit
        return filter
    }

    /// Whether an event of this page is wanted: it is what was asked for, and was not on a page before.
    mutating func takes(_ event: ScannedEvent) -> Bool {
        seen += 1
        let seconds = event.createdAt
        if seconds != until { isOneSecond = false }
        if let until, seconds > until {
            ignoresUntil = true
            return false
        }
        if let kinds = stage.filter.kinds, !kinds.contains(event.kind) { return false }
        if let since = stage.filter.since, seconds < since { return false }
        if let bound = pageStart, seconds > bound { return false }
        if seconds == pageStart, pageBorder.contains(event.id) { return false }
        guard note(event.id, at: seconds) else { return false }
        new += 1
        return true
    }

    /// Ends the page. Returns false when it was the last.
    mutating func nextPage() -> Bool {
        defer {
            seen = 0
            new = 0
            isOneSecond = true
            pageStart = oldest
            pageBorder = border
        }
        pagesLeft -= 1
        largestPage = max(largestPage, seen)
        taken += new
        if let ids = stage.filter.ids, taken >= ids.count { return false }
        guard pagesLeft > 0, seen > 0, !ignoresUntil, let oldest else { return false }
        if new > 0 {
            until = oldest
            return true
        }
        // A second with more events than fit on a page: the others of it cannot be had, those before it can.
        guard isOneSecond, largestPage > 1, seen >= largestPage, let until, until > 0 else { return false }
        self.until = until - 1
        return true
    }

    /// Prepares for the same page coming once more, since it did not come to its end.
    mutating func beginPageAgain() {
        seen = 0
        new = 0
        isOneSecond = true
        oldest = pageStart
        border = pageBorder
    }

    /// ``oldest`` and ``border`` when this page began.
    private var pageStart: Int64?
    private var pageBorder: Set<EventID> = []

    /// Returns false for an event that came on this page already.
    private mutating func note(_ id: EventID, at seconds: Int64) -> Bool {
        if let oldest, seconds > oldest { return true }
        if oldest.map({ seconds < $0 }) ?? true {
            oldest = seconds
            border = []
        }
        return border.insert(id).inserted
    }
}
