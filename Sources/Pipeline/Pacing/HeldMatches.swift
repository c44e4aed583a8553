import Caching
import Delivery
import Nostr
import Notifications

/// Which events wait in which groups, so that an event that its author deletes is found. In memory and bounded: of what
/// was held before a restart only the first event of each group is known.
struct HeldMatches {
    struct Place: Hashable {
        let device: DeviceID
        /// The event that its group goes by.
        var first: EventID
    }

    struct Match {
        /// Nil: it was held before a restart.
        var author: PublicKey?
        var places: Set<Place>
    }

    private static let capacity = 100_000

    private var matches = BoundedCache<EventID, Match?>(capacity: capacity)
    /// Groups that became part of others, with the event that those go by.
    private var merged = BoundedCache<Place, EventID>(capacity: capacity)
    /// Groups that had several events; all but one were deleted.
    private var rests = BoundedCache<Place, Void>(capacity: capacity)
    /// The events that are shown by groups where only the latest counts.
    private var shown = BoundedCache<Place, EventID>(capacity: capacity)

    func contains(_ event: EventID) -> Bool { matches.contains(event) }

    /// An event waits in a group of a device. `isShown`: the group's push shows it.
    mutating func add(_ event: EventID, of device: DeviceID, in group: HeldGroup, isShown: Bool) {
        var match = known(event) ?? Match(author: nil, places: [])
        let place = Place(device: device, first: group.event)
        match.places.insert(place)
        matches.set(match, for: event)
        if group.mark != nil, isShown { shown.set(event, for: place) }
    }

    /// Whether the push of a group still shows `event` or counts it.
    mutating func isShown(_ event: EventID, by group: HeldGroup, at place: Place) -> Bool {
        guard group.mark != nil else { return true }
        return event == shown.value(of: place) ?? (group.count == 1 ? group.event : nil)
    }

    /// Remembers who signed an event, if it waits.
    mutating func sign(_ event: EventID, by author: PublicKey) {
        guard var match = known(event) else { return }
        match.author = author
        matches.set(match, for: event)
    }

    /// A group of a device is part of another one from now on.
    mutating func merge(_ first: EventID, into other: EventID, of device: DeviceID) {
        merged.set(other, for: Place(device: device, first: first))
    }

    /// Where an event waits, if it does; it is forgotten here.
    mutating func take(_ event: EventID) -> Match? {
        guard var match = known(event) else { return nil }
        matches.set(nil, for: event)
        match.places = Set(match.places.map { present($0) })
        return match
    }

    /// Whether the only event of a group that goes by `first` is what is left of several.
    func isRest(_ first: EventID, of device: DeviceID) -> Bool { rests.contains(Place(device: device, first: first)) }

    mutating func noteRest(_ place: Place) { rests.insert(place) }

    mutating func putBack(_ match: Match, _ event: EventID) { matches.set(match, for: event) }

    private mutating func known(_ event: EventID) -> Match? { matches.value(of: event) ?? nil }

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
