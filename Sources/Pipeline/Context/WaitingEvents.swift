import Core
import DequeModule
import Nostr

/// An event that waits for context of its texts.
struct WaitingEvent {
    let event: Event
    let source: EventSource
    /// The positions of its decision and of its copies' decisions.
    var places: [AnswerPlace]
}

/// Events that wait a short time for names and notes from relays. Their number is limited. After the timeout they
/// continue without the missing context.
///
/// This type knows no clock, relay or context: its owner reports results, and it returns the next fetch.
///
/// A waiting event is not stored, remembered or answered. It continues when all its context was found, when no relay
/// has the rest, or after the timeout (``PipelineSettings/contextWait``). The context that a batch needs is one fetch,
/// and the same context is never fetched twice at the same time.
struct WaitingEvents {
    /// The limits of waiting.
    struct Limits {
        /// The timeout. Zero disables waiting.
        var wait: Duration
        var events: Int
        /// The total size of the events as received.
        var bytes = ByteCount.mebibytes(64)
    }

    /// The context that relays are asked for together.
    struct Fetch: Equatable {
        let number: Int
        let wants: ContextWants
    }

    private struct Place {
        var waiting: WaitingEvent
        var wants: ContextWants
        let bytes: Int
        let deadline: Timestamp
        let serial: UInt64
    }

    private let limits: Limits
    private var places: [EventID: Place] = [:]
    private var bytes = 0
    /// The timeouts in ascending order. Some of their events have left already.
    private var deadlines: Deque<(moment: Timestamp, id: EventID)> = []
    /// The events that wait for each piece of context. Some of them have left already.
    private var waitingFor: [ContextWant: [EventID]] = [:]
    /// Parts of the next fetch.
    private var wanted = ContextWants()
    /// Fetches in progress.
    private var asked: [Int: ContextWants] = [:]
    private var nextNumber = 0
    private var nextSerial: UInt64 = 0
    /// Events that no longer lack context.
    private var ready: [EventID] = []

    init(limits: Limits) {
        self.limits = limits
    }

    /// Whether another event of that size in bytes may wait.
    func hasCapacity(for size: Int) -> Bool {
        limits.wait > .zero && places.count < limits.events && ByteCount(bytes + size) <= limits.bytes
    }

    /// The time of the first timeout; nil if no event waits.
    var deadline: Timestamp? { deadlines.first?.moment }

    func contains(_ id: EventID) -> Bool { places[id] != nil }

    /// The number of waiting events.
    var count: Int { places.count }

    /// The time from `now` to the first timeout. It never exceeds the limit, even if the clock was set back.
    func timeout(at now: Timestamp) -> Duration? { deadline.map { min(max(.zero, $0 - now), limits.wait) } }

    /// Lets an event of `size` bytes wait for `wants`, starting at `now`.
    mutating func add(_ waiting: WaitingEvent, size: Int, for wants: ContextWants, at now: Timestamp) {
        let id = waiting.event.id
        places[id] = Place(
            waiting: waiting,
            wants: wants,
            bytes: size,
            deadline: now + limits.wait,
            serial: nextSerial
        )
        nextSerial += 1
        bytes += size
        deadlines.append((now + limits.wait, id))
        for want in wants.all { wait(id, for: want) }
        for distance in wants.laterDistances { waitingFor[.distance(distance), default: []].append(id) }
    }

    private mutating func wait(_ id: EventID, for want: ContextWant) {
        if waitingFor[want] == nil { wanted.insert(want) }
        waitingFor[want, default: []].append(id)
    }

    /// Adds another copy of a waiting event; it gets the same result. Returns false if that event does not wait.
    mutating func join(_ id: EventID, at place: AnswerPlace) -> Bool {
        places[id]?.waiting.places.append(place) != nil
    }

    /// Whether an event waits for `event` in order to know its author.
    func seeksAuthor(of event: EventID) -> Bool {
        waitingFor[.event(event)]?.contains { places[$0]?.wants.authorsOf.contains(event) == true } ?? false
    }

    /// Ends waiting for `want`, which is known now or cannot be fetched. `author` is the author of a wanted event, if
    /// their profile should be fetched.
    mutating func found(_ want: ContextWant, by author: PublicKey? = nil) {
        wanted.remove(want)
        for id in waitingFor.removeValue(forKey: want) ?? [] {
            if let author, case .event(let event) = want, places[id]?.wants.authorsOf.contains(event) == true,
                places[id]?.wants.profiles.insert(author).inserted == true
            {
                wait(id, for: .profile(author))
            }
            places[id]?.wants.remove(want)
            if places[id]?.wants.isEmpty == true { ready.append(id) }
        }
    }

    /// Adds a distance that could not be fetched before to the next fetch. Returns false if no event waits for it.
    mutating func ask(_ distance: DistanceWant) -> Bool {
        guard waitingFor[.distance(distance)] != nil else { return false }
        wanted.distances.insert(distance)
        return true
    }

    /// Returns the next fetch with everything requested since the last one; nil if that is empty.
    mutating func nextFetch() -> Fetch? {
        guard !wanted.isEmpty else { return nil }
        nextNumber += 1
        asked[nextNumber] = wanted
        defer { wanted = ContextWants() }
        return Fetch(number: nextNumber, wants: wanted)
    }

    /// Ends a fetch, and waiting for its missing results. Returns its wants.
    mutating func ended(_ number: Int) -> ContextWants {
        guard let wants = asked.removeValue(forKey: number) else { return ContextWants() }
        for want in wants.all { found(want) }
        return wants
    }

    /// Removes the events that have all their context or reached their timeout at `now`, in their order of arrival.
    mutating func takeReady(at now: Timestamp) -> [WaitingEvent] {
        while let first = deadlines.first {
            let isWaiting = places[first.id]?.deadline == first.moment
            // If the clock was set back, events must not wait longer.
            let isDue = first.moment <= now || first.moment > now + limits.wait
            guard !isWaiting || isDue else { break }
            deadlines.removeFirst()
            if isWaiting { ready.append(first.id) }
        }
        return takeReady()
    }

    /// Removes all events, in their order of arrival.
    mutating func takeAll() -> [WaitingEvent] {
        ready = deadlines.map(\.id)
        deadlines = []
        return takeReady()
    }

    private mutating func takeReady() -> [WaitingEvent] {
        defer { ready = [] }
        var leaving = ready.compactMap { places.removeValue(forKey: $0) }
        leaving.sort { $0.serial < $1.serial }
        for place in leaving { bytes -= place.bytes }
        return leaving.map(\.waiting)
    }
}

/// A request for an account's own list of a replaceable kind, which a filter reads.
package struct ListWant: Sendable, Hashable {
    package var account: PublicKey
    package var kind: Kind

    package init(account: PublicKey, kind: Kind) {
        self.account = account
        self.kind = kind
    }
}

/// The question whether any account that `account` follows, follows `author`.
package struct DistanceWant: Sendable, Hashable {
    package var account: PublicKey
    package var author: PublicKey
}

/// One piece of context that a decision or its rendering lacks and a relay may have.
enum ContextWant: Hashable {
    /// A profile (kind 0).
    case profile(PublicKey)
    case event(EventID)
    /// The newest version at that address.
    case address(EventAddress)
    /// A contact list (kind 3).
    case contactList(PublicKey)
    case list(ListWant)
    case distance(DistanceWant)
}

/// All context that a decision or its rendering lacks and a relay may have.
package struct ContextWants: Sendable, Hashable {
    package var profiles: Set<PublicKey> = []
    package var events: Set<EventID> = []
    package var addresses: Set<EventAddress> = []
    /// Events among these whose authors' profiles are wanted too, after the authors are known.
    package var authorsOf: Set<EventID> = []
    package var contactLists: Set<PublicKey> = []
    package var lists: Set<ListWant> = []
    package var distances: Set<DistanceWant> = []
    /// Distances to fetch after the account's contact list is known.
    package var laterDistances: Set<DistanceWant> = []

    package var isEmpty: Bool {
        profiles.isEmpty && events.isEmpty && addresses.isEmpty && contactLists.isEmpty && lists.isEmpty
            && distances.isEmpty && laterDistances.isEmpty
    }

    /// Everything that relays can be asked for now.
    var all: [ContextWant] {
        profiles.map(ContextWant.profile) + events.map(ContextWant.event) + addresses.map(ContextWant.address)
            + contactLists.map(ContextWant.contactList) + lists.map(ContextWant.list)
            + distances.map(ContextWant.distance)
    }

    mutating func insert(_ want: ContextWant) {
        switch want {
        case .profile(let key): profiles.insert(key)
        case .event(let id): events.insert(id)
        case .address(let address): addresses.insert(address)
        case .contactList(let account): contactLists.insert(account)
        case .list(let list): lists.insert(list)
        case .distance(let distance): distances.insert(distance)
        }
    }

    mutating func remove(_ want: ContextWant) {
        switch want {
        case .profile(let key): profiles.remove(key)
        case .event(let id): events.remove(id)
        case .address(let address): addresses.remove(address)
        case .contactList(let account): contactLists.remove(account)
        case .list(let list): lists.remove(list)
        case .distance(let distance):
            distances.remove(distance)
            laterDistances.remove(distance)
        }
    }

    mutating func formUnion(_ other: ContextWants) {
        // Most events lack no context.
        guard !other.isEmpty else { return }
        for want in other.all { insert(want) }
        authorsOf.formUnion(other.authorsOf)
        laterDistances.formUnion(other.laterDistances)
    }
}
