import Core
import Nostr

/// What a relay is asked for on behalf of our own keys: registrations, and at the operator's relays requests of remote
/// signing too.
///
/// A relay finds a tag by its whole value. So a registration of a named device (`d` = `<our key>:<name>`) is found by a
/// `p` tag that names us, or by its kind alone. Other projects use these kinds as well: a relay that has too many of
/// theirs is asked for less.
struct OwnWatch: Sendable {
    enum Place: Sendable {
        /// A relay that the configuration names. Registrations there count however they name us.
        case operators
        /// A relay that only users name. Registrations there count if they have a `p` tag for us.
        case users
    }

    /// How many registrations of one kind for other routers are tolerated.
    private static let strangers = (burst: 2_000.0, perSecond: 5.0)

    /// Nil: nothing is asked for.
    private(set) var place: Place?
    private let keys: Set<String>
    /// Kinds that are asked for whatever router they name.
    private var wholeKinds: Set<Kind> = []
    private var asksByTag = true
    private var paces: [Kind: TokenBucket] = [:]

    init(keys: [PublicKey]) {
        self.keys = Set(keys.map(\.hex))
    }

    /// Begins to ask, over a new connection too.
    mutating func begin(at place: Place?, now: Timestamp) {
        self.place = place
        wholeKinds = place == .operators ? FilterPlan.registrations : []
        asksByTag = true
        paces = [:]
        for kind in wholeKinds {
            paces[kind] = TokenBucket(capacity: Self.strangers.burst, perSecond: Self.strangers.perSecond, now: now)
        }
    }

    /// Filters for new events. Clients' clocks may be slow, so requests dated a few minutes ago count as well.
    func filters(now: Timestamp) -> [Filter] {
        var filters: [Filter] = []
        if place == .operators {
            filters.append(Filter(kinds: [.remoteSigning], tags: ["p": keys], since: (now - .minutes(10)).seconds))
        }
        return filters
            + registrations().map { filter in
                var filter = filter
                filter.limit = 1
                return filter
            }
    }

    /// Registrations that are stored.
    func stages(since: Int64?, pages: Int, wholePages: Int) -> [SweepStage] {
        registrations().map { filter in
            var filter = filter
            filter.since = since
            return SweepStage(filter: filter, reading: .stored, pages: filter.tags.isEmpty ? wholePages : pages)
        }
    }

    private func registrations() -> [Filter] {
        var filters: [Filter] = []
        if place == .operators { filters.append(Filter(kinds: FilterPlan.registrations, tags: ["d": keys])) }
        if asksByTag { filters.append(Filter(kinds: FilterPlan.registrations, tags: ["p": keys])) }
        if asksByTag, place == .operators {
            filters.append(Filter(kinds: [.deletion], tags: ["k": FilterPlan.registrationKindNames]))
        }
        return filters + wholeKinds.sorted { $0.rawValue < $1.rawValue }.map { Filter(kinds: [$0]) }
    }

    /// Asks for less, because the relay refuses so much. Returns false if nothing can be left out.
    mutating func askLess() -> Bool {
        if !wholeKinds.isEmpty {
            wholeKinds = []
            return true
        }
        guard place == .operators, asksByTag else { return false }
        asksByTag = false
        return true
    }

    /// Whether an event should be handed over: it is no registration, or one for us.
    func isOurs(_ event: ScannedEvent, in json: UnsafeRawBufferPointer) -> Bool {
        guard FilterPlan.registrations.contains(event.kind) else { return true }
        guard let event = try? Event(scanned: event, in: json) else { return true }
        return keys.contains { event.identifier.hasPrefix($0) }
    }

    /// Counts a registration for somebody else that came live. Returns false when there are too many: then its kind is
    /// not asked for any more.
    mutating func takesStranger(_ kind: Kind, now: Timestamp) -> Bool {
        guard wholeKinds.contains(kind), paces[kind]?.take(at: now) == false else { return true }
        wholeKinds.remove(kind)
        return false
    }
}

/// What must still be read for our own key at a relay: registrations from some moment on, or nothing.
struct OwnGap: Sendable {
    private enum Start: Hashable, Sendable {
        /// From the mark of an earlier process.
        case mark
        /// From that second on.
        case second(Int64)
        case everything
    }

    /// Nil: there is nothing to read.
    private var start: Start?

    var isEmpty: Bool { start == nil }

    /// Begins or stops watching the key. `isNew`: the relay was connected to before, so that its mark says nothing
    /// about this key.
    mutating func watch(_ isWatched: Bool, isNew: Bool) { start = isWatched ? (isNew ? .everything : .mark) : nil }

    /// A connection begins.
    mutating func begin(mark: Int64?) { if start != .everything { start = mark.map { .second($0) } ?? .everything } }

    /// From that second on events may not have come.
    mutating func open(since second: Int64) { if start == nil { start = .second(second) } }

    /// A sweep was given up.
    mutating func abandoned(since second: Int64?) { start = second.map { .second($0) } ?? .everything }

    /// What to read, where anything is.
    func purpose(mark: Int64?) -> Sweep.Purpose? {
        switch start {
        case .second(let second): .own(since: second)
        case .mark: .own(since: mark)
        case .everything: .own(since: nil)
        case nil: nil
        }
    }

    /// A sweep reads it.
    mutating func take() { start = nil }
}
