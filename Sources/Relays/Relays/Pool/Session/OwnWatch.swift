import Core
import Nostr

/// The requests to a relay for the router's own keys: registrations, and at the operator's relays requests of remote
/// signing too.
///
/// A relay matches a tag by its whole value. So a registration of a named device (`d` = `<our key>:<name>`) is found by
/// a `p` tag that names the router, or by its kind only. Other projects use these kinds as well. If a relay has too
/// many of their events, the router requests less.
struct OwnWatch: Sendable {
    enum Place: Sendable {
        /// A relay that the configuration names. Registrations there count regardless of how they name the router.
        case operators
        /// A relay that only users name. Registrations there count if they have a `p` tag for the router.
        case users
    }

    /// The tolerated rate of registrations for other routers, for each kind.
    private static let strangers = (burst: 2_000.0, perSecond: 5.0)

    /// Nil: the router requests no events for its own keys.
    private(set) var place: Place?
    private let keys: Set<String>
    /// Kinds that are requested regardless of the router that they name.
    private var wholeKinds: Set<Kind> = []
    private var asksByTag = true
    private var paces: [Kind: TokenBucket] = [:]

    init(keys: [PublicKey]) {
        self.keys = Set(keys.map(\.hex))
    }

    /// Starts the requests on a new connection or for a new place.
    mutating func begin(at place: Place?, now: Timestamp) {
        self.place = place
        wholeKinds = place == .operators ? FilterPlan.registrations : []
        asksByTag = true
        paces = [:]
        for kind in wholeKinds {
            paces[kind] = TokenBucket(capacity: Self.strangers.burst, perSecond: Self.strangers.perSecond, now: now)
        }
    }

    /// Returns filters for new events. Clients' clocks may be slow, so requests dated up to ten minutes ago count too.
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

    /// Returns the stages that read stored registrations.
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

    /// Reduces the filters because the relay refuses them. Returns false if no filter can be dropped.
    mutating func askLess() -> Bool {
        if !wholeKinds.isEmpty {
            wholeKinds = []
            return true
        }
        guard place == .operators, asksByTag else { return false }
        asksByTag = false
        return true
    }

    /// Whether an event concerns this router: it is not a registration, or it is one for this router.
    func isOurs(_ event: ScannedEvent, in json: UnsafeRawBufferPointer) -> Bool {
        guard FilterPlan.registrations.contains(event.kind) else { return true }
        guard let event = try? Event(scanned: event, in: json) else { return true }
        return keys.contains { event.identifier.hasPrefix($0) }
    }

    /// Counts a live registration for another router. Returns false if there are too many: its kind is then no longer
    /// requested without a tag.
    mutating func takesStranger(_ kind: Kind, now: Timestamp) -> Bool {
        guard wholeKinds.contains(kind), paces[kind]?.take(at: now) == false else { return true }
        wholeKinds.remove(kind)
        return false
    }
}

/// The range of registrations for the router's own key that must still be read at a relay.
struct OwnGap: Sendable {
    private enum Start: Hashable, Sendable {
        /// From the mark of an earlier process.
        case mark
        /// From that second on.
        case second(Int64)
        case everything
    }

    /// Nil: there are no registrations to read.
    private var start: Start?

    var isEmpty: Bool { start == nil }

    /// Starts or stops watching the key. `isNew`: the router connected to the relay before, so its mark does not cover
    /// this key.
    mutating func watch(_ isWatched: Bool, isNew: Bool) { start = isWatched ? (isNew ? .everything : .mark) : nil }

    /// Starts a connection.
    mutating func begin(mark: Int64?) { if start != .everything { start = mark.map { .second($0) } ?? .everything } }

    /// Notes that events may be missing from that second on.
    mutating func open(since second: Int64) { if start == nil { start = .second(second) } }

    /// Returns the range of an abandoned sweep.
    mutating func abandoned(since second: Int64?) { start = second.map { .second($0) } ?? .everything }

    /// Returns the next sweep, if there is something to read.
    func purpose(mark: Int64?) -> Sweep.Purpose? {
        switch start {
        case .second(let second): .own(since: second)
        case .mark: .own(since: mark)
        case .everything: .own(since: nil)
        case nil: nil
        }
    }

    /// Clears the range because a sweep reads it.
    mutating func take() { start = nil }
}
