import Nostr

/// Reads the events that match a filter page by page, from newest to oldest, even at relays that do not follow NIP-01.
///
/// Each page requests events up to one second after the oldest event so far: more events may share that second, and
/// some relays take `until` as exclusive. A page without new events ends the reading, unless the relay may have cut it.
/// A second with more events than a page holds is read with narrower filters: first with parts of the filter, then by
/// the kinds and authors of the events that came. A full page may hide other kinds and authors, so such a second counts
/// as unread although most of it is read.
struct Paging: Sendable {
    /// The maximum number of authors in one filter, which any relay accepts in a REQ.
    private static let authorsPerFilter = 25

    let stage: SweepStage
    private let limit: Int
    private var pagesLeft: Int
    /// The windows left to read. The last one is being read.
    private var windows: [PagingWindow]
    /// A page with this number of events may be incomplete: it reached the requested limit, or the size to which the
    /// relay cut another page.
    private var cap: Int
    private var largestPage = 0
    /// Whether the relay returned an event of exactly the second given in `until`.
    private var isUntilInclusive = false
    private var ignoresUntil = false
    /// The number of events taken from finished pages.
    private var taken = 0
    /// The number of events on this page, wanted or not.
    private(set) var seen = 0
    private var new = 0
    /// The last second that may have unread events.
    private var unreadSecond: Int64?

    init(_ stage: SweepStage, limit: Int) {
        self.stage = stage
        self.limit = max(1, limit)
        cap = self.limit
        pagesLeft = max(1, stage.pages)
        windows = [PagingWindow(stage.filter, until: stage.filter.until.map { $0 + 1 })]
    }

    /// The filter for the current page.
    var filter: Filter {
        var filter = windows.last?.filter ?? stage.filter
        filter.until = windows.last?.until
        filter.limit = limit
        return filter
    }

    /// Whether an event of this page is wanted: it matches, and was not on an earlier page.
    mutating func takes(_ event: ScannedEvent) -> Bool {
        seen += 1
        guard let last = windows.indices.last else { return false }
        if let until = windows[last].until {
            guard event.createdAt <= until else {
                ignoresUntil = true
                return false
            }
            if event.createdAt == until { isUntilInclusive = true }
        }
        guard windows[last].takes(event) else { return false }
        new += 1
        return true
    }

    /// Ends the page. Returns whether another one follows, and the number of read failures: one for each second with
    /// more events than the relay returns, and one if the reading reached the maximum number of pages.
    mutating func nextPage() -> (follows: Bool, unread: Int) {
        pagesLeft -= 1
        taken += new
        var unread = 0
        let isDone = ignoresUntil || stage.filter.ids.map { taken >= $0.count } ?? false
        if isDone {
            windows = []
        } else if !advance() {
            unread += 1
        }
        largestPage = max(largestPage, seen)
        seen = 0
        new = 0
        if let last = windows.indices.last { windows[last].beginPage() }
        if !windows.isEmpty, pagesLeft <= 0 {
            windows = []
            // For old events, the limit of pages is not a failure.
            if stage.isOfNewEvents { unread += 1 }
        }
        return (!windows.isEmpty, unread)
    }

    /// Prepares to read the same page again, because it was interrupted.
    mutating func beginPageAgain() {
        seen = 0
        new = 0
        if let last = windows.indices.last { windows[last].beginPageAgain() }
    }

    /// Selects the next window. Returns false if a second holds more events than can be read.
    private mutating func advance() -> Bool {
        guard var window = windows.popLast(), seen > 0 else { return true }
        let page = window.page
        if window.isOfOneSecond {
            return seen < cap || narrow(window, to: page.newest)
        }
        if new > 0 {
            let crowd = window.takeCrowd(above: page.oldest)
            window.askOn()
            windows.append(window)
            guard let crowd else { return true }
            // There are older events, so the page of that second was cut.
            cap = min(cap, crowd.size)
            return narrow(window, to: crowd.second, except: crowd.ids)
        }
        guard seen > 1, seen >= min(largestPage, cap), page.oldest >= window.filter.since ?? .min,
            let until = window.until
        else { return true }
        let isOneSecond = page.newest == page.oldest
        let ids = window.border
        let isNew = isOneSecond && window.noteCrowd(of: page.newest, size: seen)
        // The page has no new events, so continue below it.
        let below = isOneSecond ? (isUntilInclusive ? page.newest - 1 : page.newest) : page.oldest + 1
        let isSure = isNew && seen >= cap
        if isSure { _ = window.takeCrowd(above: .min) }
        if window.limit(until: min(until - 1, below)) { windows.append(window) }
        return !isSure || narrow(window, to: page.newest, except: ids)
    }

    /// Reads the events of one second next, with parts of the window's filter. Returns false, once a second, if events
    /// may be missing from them.
    private mutating func narrow(_ window: PagingWindow, to second: Int64, except known: Set<EventID>? = nil) -> Bool {
        let parts: [Filter]
        var isSure = true
        if let halves = window.filter.halves {
            parts = halves
        } else if !window.isOfOneSecond {
            // Read only that second, to collect its authors.
            parts = [window.filter]
        } else {
            parts = window.filter.parts(of: window.kinds, by: window.authors, each: Self.authorsPerFilter)
            isSure = unreadSecond == second
            unreadSecond = second
        }
        for part in parts {
            windows.append(
                PagingWindow(
                    part,
                    second: second,
                    until: isUntilInclusive ? second : second + 1,
                    known: known ?? window.border
                )
            )
        }
        return isSure
    }
}

/// The progress of reading the events of one filter.
private struct PagingWindow: Sendable {
    /// A second whose events may not all fit on a page.
    struct Crowd: Sendable {
        let second: Int64
        /// The events that arrived.
        let ids: Set<EventID>
        /// The number of events on the page.
        let size: Int
    }

    /// The wanted filter. The requested `until` may differ.
    let filter: Filter
    /// The requested `until`.
    private(set) var until: Int64?
    /// The maximum of `until`.
    private var ceiling: Int64?
    /// The oldest second that was reached, and its events.
    private var oldest: Int64?
    private(set) var border: Set<EventID> = []
    /// The same values at the start of this page.
    private var oldestBefore: Int64?
    private var borderBefore: Set<EventID> = []
    /// The range of seconds of this page's events.
    private(set) var page = (oldest: Int64.max, newest: Int64.min)
    /// The kinds and authors that arrived, if the filter covers one second.
    private(set) var kinds: Set<Kind> = []
    private(set) var authors: Set<PublicKey> = []
    private var crowd: Crowd?
    /// The last second that may have too many events for a page.
    private var lastCrowd: Int64?

    init(_ filter: Filter, until: Int64?) {
        self.filter = filter
        self.until = until
        ceiling = until
    }

    /// Reads the events of one second that match `filter`, except `known` ones, which arrived before.
    init(_ filter: Filter, second: Int64, until: Int64, known: Set<EventID>) {
        var filter = filter
        filter.since = second
        filter.until = second
        self.init(filter, until: until)
        oldest = second
        border = known
        beginPage()
    }

    var isOfOneSecond: Bool { filter.since != nil && filter.since == filter.until }

    mutating func takes(_ event: ScannedEvent) -> Bool {
        let seconds = event.createdAt
        page = (min(page.oldest, seconds), max(page.newest, seconds))
        if let kinds = filter.kinds, !kinds.contains(event.kind) { return false }
        guard seconds >= filter.since ?? .min, seconds <= min(filter.until ?? .max, oldestBefore ?? .max) else {
            return false
        }
        if isOfOneSecond {
            kinds.insert(event.kind)
            authors.insert(event.pubkey)
        }
        if seconds == oldestBefore, borderBefore.contains(event.id) { return false }
        // An event may come twice on one page.
        if let oldest, seconds > oldest { return true }
        if oldest.map({ seconds < $0 }) ?? true {
            oldest = seconds
            border = []
        }
        return border.insert(event.id).inserted
    }

    mutating func beginPage() {
        page = (.max, .min)
        oldestBefore = oldest
        borderBefore = border
    }

    mutating func beginPageAgain() {
        page = (.max, .min)
        oldest = oldestBefore
        border = borderBefore
    }

    /// Continues from the oldest second that was reached, which may have more events.
    mutating func askOn() {
        if let oldest { until = min(oldest + 1, ceiling ?? .max) }
    }

    /// Lowers the maximum of `until` to `moment`. Returns false if the filter matches no earlier events.
    mutating func limit(until moment: Int64) -> Bool {
        ceiling = moment
        until = moment
        return moment >= max(0, filter.since ?? 0)
    }

    /// Notes that a page was full of events of that second. Returns false if that was noted before.
    mutating func noteCrowd(of second: Int64, size: Int) -> Bool {
        guard lastCrowd != second else { return false }
        lastCrowd = second
        crowd = Crowd(second: second, ids: border, size: size)
        return true
    }

    /// Returns the noted second if an older event, of `second`, has arrived.
    mutating func takeCrowd(above second: Int64) -> Crowd? {
        guard let noted = crowd, noted.second > second else { return nil }
        crowd = nil
        return noted
    }
}

extension Filter {
    /// Two filters that together match the same events: half of the kinds each, or else half of the named keys. Nil if
    /// the filter has one kind and one key.
    fileprivate var halves: [Filter]? {
        if let kinds, kinds.count > 1 {
            return Self.halves(of: kinds.sorted { $0.rawValue < $1.rawValue }).map { half in
                changed { $0.kinds = half }
            }
        }
        if let authors, authors.count > 1 {
            return Self.halves(of: authors.sorted()).map { half in changed { $0.authors = half } }
        }
        guard let (name, values) = tags.first(where: { $0.value.count > 1 }) else { return nil }
        return Self.halves(of: values.sorted()).map { half in changed { $0.tags[name] = half } }
    }

    /// Returns filters for the matching events of these kinds, or else by these authors. Empty if that would not narrow
    /// the filter.
    fileprivate func parts(of kinds: Set<Kind>, by authors: Set<PublicKey>, each size: Int) -> [Filter] {
        if self.kinds == nil, kinds.count > 1 { return kinds.map { kind in changed { $0.kinds = [kind] } } }
        guard self.authors == nil, authors.count > 1 else { return [] }
        let sorted = authors.sorted()
        let size = min(size, (sorted.count + 1) / 2)
        return stride(from: 0, to: sorted.count, by: size).map { start in
            changed { $0.authors = Set(sorted[start..<min(start + size, sorted.count)]) }
        }
    }

    private func changed(_ change: (inout Filter) -> Void) -> Filter {
        var filter = self
        change(&filter)
        return filter
    }

    private static func halves<Element: Hashable>(of elements: [Element]) -> [Set<Element>] {
        let middle = elements.count / 2
        return [Set(elements[..<middle]), Set(elements[middle...])]
    }
}
