import Core
import Delivery
import Nostr
import Push

/// Which events wait in which groups, so that an event that its author deletes is found. In memory and bounded: after a
/// restart it knows only the members of held groups.
struct HeldMatches {
    struct Place: Hashable {
        let device: DeviceID
        /// The event that its group goes by.
        var first: EventID
    }

    struct Match {
        /// Nil until it is known who signed the event.
        var origin: EventOrigin?
        var places: Set<Place> = []
        /// The event of the same author that was held before this one.
        fileprivate var previous: EventID?
    }

    private static let capacity = 100_000

    private var matches = BoundedCache<EventID, Match>(capacity: capacity)
    /// The last held event of each author: a deletion may name no event.
    private var latest = BoundedCache<SIMD4<UInt64>, EventID>(capacity: capacity)
    /// Groups that became part of others, with the event that those go by.
    private var merged = BoundedCache<Place, EventID>(capacity: capacity)

    func contains(_ event: EventID) -> Bool { matches.contains(event) }

    /// An event waits in a group of a device.
    mutating func add(_ event: EventID, of device: DeviceID, in group: HeldGroup) {
        var match = matches.value(of: event) ?? Match()
        match.places.insert(Place(device: device, first: group.event))
        matches.set(match, for: event)
    }

    /// Remembers who signed an event, if it waits.
    mutating func sign(_ event: EventID, _ origin: EventOrigin) {
        guard var match = matches.value(of: event), match.origin == nil else { return }
        match.origin = origin
        match.previous = latest.value(of: origin.author)
        matches.set(match, for: event)
        latest.set(event, for: origin.author)
    }

    /// A group of a device is part of another one from now on.
    mutating func merge(_ first: EventID, into other: EventID, of device: DeviceID) {
        merged.set(other, for: Place(device: device, first: first))
    }

    /// The events that wait and that a deletion names. `signer` is asked who signed an event whose author is not known.
    mutating func events(of deletion: Deletion, signer: (EventID) -> PublicKey?) -> [EventID] {
        let author = SIMD4(deletion.author.bytes)
        var events = deletion.ids.filter { id in
            guard let match = matches.value(of: id) else { return false }
            return match.origin.map { $0.author == author } ?? (signer(id) == deletion.author)
        }
        let withdrawals = deletion.withdrawalsWithoutIDs
        guard !withdrawals.isEmpty else { return Array(events) }
        // An event that was forgotten and held again may come twice.
        var seen: Set<EventID> = []
        var next = latest.value(of: author)
        while let event = next, seen.insert(event).inserted, let match = matches.value(of: event) {
            if let origin = match.origin, withdrawals.contains(where: { $0.covers(origin) }) { events.insert(event) }
            next = match.previous
        }
        return Array(events)
    }

    /// Where an event waits; it is forgotten here.
    mutating func take(_ event: EventID) -> Set<Place> {
        guard var match = matches.value(of: event) else { return [] }
        defer {
            match.places = []
            matches.set(match, for: event)
        }
        return Set(match.places.map { present($0) })
    }

    /// Where the group of a place is now.
    private mutating func present(_ place: Place) -> Place {
        var place = place
        for _ in 0..<HeldKey.slots {
            guard let other = merged.value(of: place) else { break }
            place.first = other
        }
        return place
    }
}
