import DequeModule
import Nostr

/// Events that wait a moment for names and notes that relays may have. Bounded; what does not come in time they go without.
///
/// Knows no clock, no relay and no context: it is told what was found, and says what is to be asked for.
struct Parking {
    /// What relays are asked for in one go.
    struct Fetch: Equatable {
        let number: Int
        let wants: ContextWants
    }

    private struct Place {
        var parked: Parked
        var wants: ContextWants
        let bytes: Int
        let deadline: Int64
        let serial: UInt64
    }

    private let limits: ParkingLimits
    private var places: [EventID: Place] = [:]
    private var bytes = 0
    /// When each has waited long enough, the earliest first; some may have gone before.
    private var deadlines: Deque<(moment: Int64, id: EventID)> = []
    /// Who waits for what; some may have gone.
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
    /// Those that lack nothing any more.
    private var ready: [EventID] = []

    init(limits: ParkingLimits) {
        self.limits = limits
    }

    /// Whether another event of that many bytes may wait.
    func hasRoom(for size: Int) -> Bool {
        limits.wait > 0 && places.count < limits.events && bytes + size <= limits.bytes
    }

    /// When to look for those who have waited long enough, in milliseconds since 1970; nil when nobody waits.
    var deadline: Int64? { deadlines.first?.moment }

    func contains(_ id: EventID) -> Bool { places[id] != nil }

    /// Events that wait.
    var count: Int { places.count }

    /// How many milliseconds after `now` that is; no more than the limit, also when the clock was put back.
    func patience(at now: Int64) -> Int64? { deadline.map { min(max(0, $0 - now), limits.wait) } }

    /// Lets an event of `size` bytes wait for `wants`, at `now` in milliseconds since 1970.
    mutating func park(_ parked: Parked, size: Int, for wants: ContextWants, at now: Int64) {
        let id = parked.event.id
        places[id] = Place(
            parked: parked,
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
        places[id]?.parked.places.append(place) != nil
    }

    /// That author's profile is known now.
    mutating func found(profileOf key: PublicKey) {
        wanted.profiles.remove(key)
        for id in waitingForProfile.removeValue(forKey: key) ?? [] {
            places[id]?.wants.profiles.remove(key)
            noteIfReady(id)
        }
    }

    /// Whether somebody waits for that event to learn who its author is.
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

    /// Whom that account follows is known now.
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

    /// Whether somebody whom the account follows follows the author is known now, or will not be.
    mutating func found(distance: DistanceWant) {
        wanted.distances.remove(distance)
        for id in waitingForDistance.removeValue(forKey: distance) ?? [] {
            places[id]?.wants.distances.remove(distance)
            places[id]?.wants.laterDistances.remove(distance)
            noteIfReady(id)
        }
    }

    /// Has relays asked about a distance that could not be asked about before; false when nobody waits for it.
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

    /// Everybody answered; what was not found by now is waited for no longer. Returns what had been asked for.
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

    /// Those that lack nothing any more, or have waited long enough at `now`, in the order in which they came.
    mutating func takeReady(at now: Int64) -> [Parked] {
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

    /// All that wait, in the order in which they came.
    mutating func takeAll() -> [Parked] {
        ready = deadlines.map(\.id)
        deadlines = []
        return takeReady()
    }

    private mutating func takeReady() -> [Parked] {
        defer { ready = [] }
        var leaving = ready.compactMap { places.removeValue(forKey: $0) }
        leaving.sort { $0.serial < $1.serial }
        for place in leaving { bytes -= place.bytes }
        return leaving.map(\.parked)
    }
}

/// An event that waits for what its texts speak of.
struct Parked {
    let event: Event
    let source: EventSource
    /// Where its verdict and those of its further copies belong.
    var places: [AnswerPlace]
}

/// How long and how much may wait for context.
struct ParkingLimits {
    /// In milliseconds; 0: nothing waits.
    var wait: Int64
    var events: Int
    /// Of events as they came.
    var bytes = 64 << 20
}
