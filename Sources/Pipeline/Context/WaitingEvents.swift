import Core
import DequeModule
import Nostr

/// An event that waits for what its texts refer to.
struct WaitingEvent {
    let event: Event
    let source: EventSource
    /// The places of its verdict and those of its further copies.
    var places: [AnswerPlace]
}

/// Events that wait a moment for names and notes that relays may have. Bounded; what does not come in time they go
/// without.
///
/// Knows no clock, no relay and no context: its owner says what was found, and it says what is to be asked for.
///
/// An event that waits is not kept, not remembered and not answered. It goes on when everything that it lacks was
/// found, when nobody has the rest, or when its time is over (``PipelineSettings/contextWait``). What a batch wants is
/// one fetch, and nothing is asked for twice at the same time.
struct WaitingEvents {
    /// How long and how many events may wait.
    struct Limits {
        /// Zero: nothing waits.
        var wait: Duration
        var events: Int
        /// Of events as they came.
        var bytes = ByteCount.mebibytes(64)
    }

    /// What relays are asked for in one go.
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
    /// When each has waited long enough, the earliest first; some of them have gone before.
    private var deadlines: Deque<(moment: Timestamp, id: EventID)> = []
    /// The events that wait for each; some of them have gone.
    private var waitingFor: [ContextWant: [EventID]] = [:]
    /// To be asked for next.
    private var wanted = ContextWants()
    /// Being asked for.
    private var asked: [Int: ContextWants] = [:]
    private var nextNumber = 0
    private var nextSerial: UInt64 = 0
    /// Events that lack nothing any more.
    private var ready: [EventID] = []

    init(limits: Limits) {
        self.limits = limits
    }

    /// Whether another event of that many bytes may wait.
    func hasCapacity(for size: Int) -> Bool {
        limits.wait > .zero && places.count < limits.events && ByteCount(bytes + size) <= limits.bytes
    }

    /// When the first has waited long enough; nil when none waits.
    var deadline: Timestamp? { deadlines.first?.moment }

    func contains(_ id: EventID) -> Bool { places[id] != nil }

    /// Events that wait.
    var count: Int { places.count }

    /// How long after `now` that is; no more than the limit, also when the clock was put back.
    func patience(at now: Timestamp) -> Duration? { deadline.map { min(max(.zero, $0 - now), limits.wait) } }

    /// Lets an event of `size` bytes wait for `wants`, at `now`.
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

    /// Lets a further copy of an event that waits share its end; false when that event does not wait.
    mutating func join(_ id: EventID, at place: AnswerPlace) -> Bool {
        places[id]?.waiting.places.append(place) != nil
    }

    /// Whether an event waits for that one because of its author.
    func seeksAuthor(of event: EventID) -> Bool {
        waitingFor[.event(event)]?.contains { places[$0]?.wants.authorsOf.contains(event) == true } ?? false
    }

    /// That is known now, or is not to be had now. `author` is the one of a wanted event, if their profile is worth
    /// looking for.
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

    /// Has relays asked about a distance that could not be asked about before; false when no event waits for it.
    mutating func ask(_ distance: DistanceWant) -> Bool {
        guard waitingFor[.distance(distance)] != nil else { return false }
        wanted.distances.insert(distance)
        return true
    }

    /// What is to be asked for now, all that came up since the last time together; nil: nothing.
    mutating func nextFetch() -> Fetch? {
        guard !wanted.isEmpty else { return nil }
        nextNumber += 1
        asked[nextNumber] = wanted
        defer { wanted = ContextWants() }
        return Fetch(number: nextNumber, wants: wanted)
    }

    /// A fetch ended: what it has not found by now is waited for no longer. Returns what it asked for.
    mutating func ended(_ number: Int) -> ContextWants {
        guard let wants = asked.removeValue(forKey: number) else { return ContextWants() }
        for want in wants.all { found(want) }
        return wants
    }

    /// Takes out the events that lack nothing any more, or have waited long enough at `now`, in the order in which they
    /// came.
    mutating func takeReady(at now: Timestamp) -> [WaitingEvent] {
        while let first = deadlines.first {
            let isWaiting = places[first.id]?.deadline == first.moment
            // A clock that was put back must not make them wait for it.
            let isDue = first.moment <= now || first.moment > now + limits.wait
            guard !isWaiting || isDue else { break }
            deadlines.removeFirst()
            if isWaiting { ready.append(first.id) }
        }
        return takeReady()
    }

    /// Takes out all events, in the order in which they came.
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

/// An account's own list, of a replaceable kind, that a filter would read.
package struct ListWant: Sendable, Hashable {
    package var account: PublicKey
    package var kind: Kind

    package init(account: PublicKey, kind: Kind) {
        self.account = account
        self.kind = kind
    }
}

/// Whether an account that `account` follows, follows `author`.
package struct DistanceWant: Sendable, Hashable {
    package var account: PublicKey
    package var author: PublicKey
}

/// One thing that a decision or its rendering lacks and a relay may have.
enum ContextWant: Hashable {
    /// Of kind 0.
    case profile(PublicKey)
    case event(EventID)
    /// The newest version at that address.
    case address(EventAddress)
    /// Of kind 3.
    case contactList(PublicKey)
    case list(ListWant)
    case distance(DistanceWant)
}

/// Everything that a decision or its rendering lacks and a relay may have.
package struct ContextWants: Sendable, Hashable {
    package var profiles: Set<PublicKey> = []
    package var events: Set<EventID> = []
    package var addresses: Set<EventAddress> = []
    /// Events among these whose authors' profiles are wanted, once it is known who the authors are.
    package var authorsOf: Set<EventID> = []
    package var contactLists: Set<PublicKey> = []
    package var lists: Set<ListWant> = []
    package var distances: Set<DistanceWant> = []
    /// The same, to be asked once the account's contact list is known.
    package var laterDistances: Set<DistanceWant> = []

    package var isEmpty: Bool {
        profiles.isEmpty && events.isEmpty && addresses.isEmpty && contactLists.isEmpty && lists.isEmpty
            && distances.isEmpty && laterDistances.isEmpty
    }

    /// All that relays can be asked for now.
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
        // Most events lack nothing.
        guard !other.isEmpty else { return }
        for want in other.all { insert(want) }
        authorsOf.formUnion(other.authorsOf)
        laterDistances.formUnion(other.laterDistances)
    }
}
