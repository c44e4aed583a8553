import DequeModule
import Nostr

/// An event that waits for what its texts refer to.
struct WaitingEvent {
    let event: Event
    let source: EventSource
    /// The places of its verdict and those of its further copies.
    var places: [AnswerPlace]
}

/// Events that wait a moment for names and notes that relays may have. Bounded; what does not come in time they go without.
///
/// Knows no clock, no relay and no context: its owner says what was found, and it says what is to be asked for.
struct WaitingEvents {
    /// How long and how many events may wait.
    struct Limits {
        /// In milliseconds; 0: nothing waits.
        var wait: Int64
        var events: Int
        /// Of events as they came.
        var bytes = 64 << 20
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
        let deadline: Int64
        let serial: UInt64
    }

    private let limits: Limits
    private var places: [EventID: Place] = [:]
    private var bytes = 0
    /// When each has waited long enough, the earliest first; some of them have gone before.
    private var deadlines: Deque<(moment: Int64, id: EventID)> = []
    /// The events that wait for each; some of them have gone.
    private var waitingForProfile: [PublicKey: [EventID]] = [:]
    private var waitingForEvent: [EventID: [EventID]] = [:]
    private var waitingForAddress: [EventAddress: [EventID]] = [:]
    private var waitingForContactList: [PublicKey: [EventID]] = [:]
    private var waitingForList: [ListWant: [EventID]] = [:]
    private var waitingForDistance: [DistanceWant: [EventID]] = [:]
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
        limits.wait > 0 && places.count < limits.events && bytes + size <= limits.bytes
    }

    /// When the first has waited long enough, in milliseconds since 1970; nil when none waits.
    var deadline: Int64? { deadlines.first?.moment }

    func contains(_ id: EventID) -> Bool { places[id] != nil }

    /// Events that wait.
    var count: Int { places.count }

    /// How many milliseconds after `now` that is; no more than the limit, also when the clock was put back.
    func patience(at now: Int64) -> Int64? { deadline.map { min(max(0, $0 - now), limits.wait) } }

    /// Lets an event of `size` bytes wait for `wants`, at `now` in milliseconds since 1970.
    mutating func add(_ waiting: WaitingEvent, size: Int, for wants: ContextWants, at now: Int64) {
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
        for key in wants.profiles { wait(id, forProfileOf: key) }
        for event in wants.events {
            if waitingForEvent[event] == nil { wanted.events.insert(event) }
            waitingForEvent[event, default: []].append(id)
        }
        for address in wants.addresses {
            if waitingForAddress[address] == nil { wanted.addresses.insert(address) }
            waitingForAddress[address, default: []].append(id)
        }
        for account in wants.contactLists {
            if waitingForContactList[account] == nil { wanted.contactLists.insert(account) }
            waitingForContactList[account, default: []].append(id)
        }
        for list in wants.lists {
            if waitingForList[list] == nil { wanted.lists.insert(list) }
            waitingForList[list, default: []].append(id)
        }
        for distance in wants.distances {
            if waitingForDistance[distance] == nil { wanted.distances.insert(distance) }
            waitingForDistance[distance, default: []].append(id)
        }
        for distance in wants.laterDistances { waitingForDistance[distance, default: []].append(id) }
    }

    private mutating func wait(_ id: EventID, forProfileOf key: PublicKey) {
        if waitingForProfile[key] == nil { wanted.profiles.insert(key) }
        waitingForProfile[key, default: []].append(id)
    }

    /// Lets a further copy of an event that waits share its end; false when that event does not wait.
    mutating func join(_ id: EventID, at place: AnswerPlace) -> Bool {
        places[id]?.waiting.places.append(place) != nil
    }

    /// That author's profile is known now.
    mutating func found(profileOf key: PublicKey) {
        wanted.profiles.remove(key)
        for id in waitingForProfile.removeValue(forKey: key) ?? [] {
            places[id]?.wants.profiles.remove(key)
            noteIfReady(id)
        }
    }

    /// Whether an event waits for that one because of its author.
    func seeksAuthor(of event: EventID) -> Bool {
        waitingForEvent[event]?.contains { places[$0]?.wants.authorsOf.contains(event) == true } ?? false
    }

    /// The event of that id is known now, and so is its author, whose profile is worth seeking; nil where it is not.
    mutating func found(event: EventID, by author: PublicKey? = nil) {
        wanted.events.remove(event)
        for id in waitingForEvent.removeValue(forKey: event) ?? [] {
            if let author, places[id]?.wants.authorsOf.contains(event) == true {
                if places[id]?.wants.profiles.insert(author).inserted == true { wait(id, forProfileOf: author) }
            }
            places[id]?.wants.events.remove(event)
            noteIfReady(id)
        }
    }

    /// What stands at that address is known now.
    mutating func found(address: EventAddress) {
        wanted.addresses.remove(address)
        for id in waitingForAddress.removeValue(forKey: address) ?? [] {
            places[id]?.wants.addresses.remove(address)
            noteIfReady(id)
        }
    }

    /// The contact list of that account is known now.
    mutating func found(contactListOf account: PublicKey) {
        wanted.contactLists.remove(account)
        for id in waitingForContactList.removeValue(forKey: account) ?? [] {
            places[id]?.wants.contactLists.remove(account)
            noteIfReady(id)
        }
    }

    /// That list of an account is known now.
    mutating func found(list: ListWant) {
        wanted.lists.remove(list)
        for id in waitingForList.removeValue(forKey: list) ?? [] {
            places[id]?.wants.lists.remove(list)
            noteIfReady(id)
        }
    }

    /// That distance is known now, or will not be.
    mutating func found(distance: DistanceWant) {
        wanted.distances.remove(distance)
        for id in waitingForDistance.removeValue(forKey: distance) ?? [] {
            places[id]?.wants.distances.remove(distance)
            places[id]?.wants.laterDistances.remove(distance)
            noteIfReady(id)
        }
    }

    /// Has relays asked about a distance that could not be asked about before; false when no event waits for it.
    mutating func ask(_ distance: DistanceWant) -> Bool {
        guard waitingForDistance[distance] != nil else { return false }
        wanted.distances.insert(distance)
        return true
    }

    private mutating func noteIfReady(_ id: EventID) {
        if places[id]?.wants.isEmpty == true { ready.append(id) }
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
        for key in wants.profiles { found(profileOf: key) }
        for event in wants.events { found(event: event) }
        for address in wants.addresses { found(address: address) }
        for account in wants.contactLists { found(contactListOf: account) }
        for list in wants.lists { found(list: list) }
        for distance in wants.distances { found(distance: distance) }
        return wants
    }

    /// Takes out the events that lack nothing any more, or have waited long enough at `now`, in the order in which they came.
    mutating func takeReady(at now: Int64) -> [WaitingEvent] {
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
