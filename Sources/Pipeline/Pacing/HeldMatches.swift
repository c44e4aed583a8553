import Core
import Delivery
import Nostr
import Push

/// An index of held events and their groups, for finding events that their author deletes. It is in memory and bounded.
/// After a restart it knows only the members of held groups.
struct HeldMatches {
    struct Place: Hashable {
        let device: DeviceID
        /// The event that its group is named after.
        var first: EventID
    }

    struct Match {
        /// Nil until the event's signer is known.
        var origin: EventOrigin?
        var places: Set<Place> = []
        /// The event by the same author that was held before this one.
        fileprivate var previous: EventID?
    }

    private static let capacity = 100_000

    private var matches = BoundedCache<EventID, Match>(capacity: capacity)
    /// The last held event of each author, because a deletion may name no event.
    private var latest = BoundedCache<SIMD4<UInt64>, EventID>(capacity: capacity)
    /// Merged groups, with the event that their new group is named after.
    private var merged = BoundedCache<Place, EventID>(capacity: capacity)

    func contains(_ event: EventID) -> Bool { matches.contains(event) }

    /// Adds an event that is held in a device's group.
    mutating func add(_ event: EventID, of device: DeviceID, in group: HeldGroup) {
        var match = matches.value(of: event) ?? Match()
        match.places.insert(Place(device: device, first: group.event))
        matches.set(match, for: event)
    }

    /// Records the signer of an event if it is held.
    mutating func sign(_ event: EventID, _ origin: EventOrigin) {
        guard var match = matches.value(of: event), match.origin == nil else { return }
        match.origin = origin
        match.previous = latest.value(of: origin.author)
        matches.set(match, for: event)
        latest.set(event, for: origin.author)
    }

    /// Records that a device's group was merged into another one.
    mutating func merge(_ first: EventID, into other: EventID, of device: DeviceID) {
        merged.set(other, for: Place(device: device, first: first))
    }

    /// The held events that a deletion names. `context` knows the signers of some events whose authors are not known
    /// here.
    mutating func events(of deletion: Deletion, _ context: inout EventContext) -> [EventID] {
        let author = SIMD4(deletion.author.bytes)
        var events = deletion.ids.filter { id in
            guard let match = matches.value(of: id) else { return false }
            return match.origin.map { $0.author == author } ?? (context.authors(of: id)?.first == deletion.author)
        }
        let withdrawals = deletion.withdrawalsWithoutIDs
        guard !withdrawals.isEmpty else { return Array(events) }
        // An event that was forgotten and held again may occur twice.
        var seen: Set<EventID> = []
        var next = latest.value(of: author)
        while let event = next, seen.insert(event).inserted, let match = matches.value(of: event) {
            if let origin = match.origin, withdrawals.contains(where: { $0.covers(origin) }) { events.insert(event) }
            next = match.previous
        }
        return Array(events)
    }

    /// Removes an event and returns its places.
    mutating func take(_ event: EventID) -> Set<Place> {
        guard var match = matches.value(of: event) else { return [] }
        defer {
            match.places = []
            matches.set(match, for: event)
        }
        return Set(match.places.map { present($0) })
    }

    /// The current place of a group that may have been merged.
    private mutating func present(_ place: Place) -> Place {
        var place = place
        for _ in 0..<HeldKey.slots {
            guard let other = merged.value(of: place) else { break }
            place.first = other
        }
        return place
    }
}
