import Nostr
import Push
import Registry

/// A filter as the operator configured it.
package struct EventFilter: Sendable {
    /// What becomes of an event that it cannot decide about.
    package enum OnError: String, Sendable, CaseIterable {
        case pass
        case drop
    }

    package var name: String
    package var availability: FilterAvailability
    package var onError: OnError
    /// The recipient's own lists that it reads: replaceable events.
    package var wantedKinds: [Kind] = []
    /// What it has to know about the recipient's follows.
    package var need = FollowNeed.nothing
    /// Whether it is asked with the notification, once that is made.
    package var isAskedAfterRendering = false
    /// Answers questions in their order, one verdict to each. Called on the pipeline's thread, which waits.
    package var decide: @Sendable ([FilterQuestion]) -> [FilterVerdict]

    package init(
        name: String,
        availability: FilterAvailability = .maySwitchOff,
        onError: OnError = .pass,
        decideTogether decide: @escaping @Sendable ([FilterQuestion]) -> [FilterVerdict]
    ) {
        self.name = name
        self.availability = availability
        self.onError = onError
        self.decide = decide
    }
}

/// Whether devices may switch a filter on or off.
package enum FilterAvailability: String, Sendable, CaseIterable {
    /// Nothing: it is asked for all of them.
    case always
    /// It is asked unless a device switches it off.
    case maySwitchOff = "may-switch-off"
    /// It is asked for devices that switch it on.
    case maySwitchOn = "may-switch-on"

    /// Whether it is asked for a device with that choice; nil: none.
    package func isActive(_ choice: Bool?) -> Bool {
        switch self {
        case .always: true
        case .maySwitchOff: choice ?? true
        case .maySwitchOn: choice ?? false
        }
    }
}

/// All filters, in the operator's order.
struct EventFilters {
    let all: [EventFilter]
    private let early: FilterSelection
    /// Asked for devices that switch none on or off, which are most.
    private let usual: FilterSelection

    /// Those beyond ``FilterSelection/limit`` are left out.
    init(_ filters: [EventFilter]) {
        all = Array(filters.prefix(FilterSelection.limit))
        let places = all.indices
        early = places.reduce(into: []) { if !filters[$1].isAskedAfterRendering { $0.insert(.init(at: $1)) } }
        usual = places.reduce(into: []) { if filters[$1].availability.isActive(nil) { $0.insert(.init(at: $1)) } }
    }

    /// The most that any of them has to know about the accounts that recipients follow.
    var need: FollowNeed { all.map(\.need).max() ?? .nothing }

    /// The kinds of recipients' own lists that are kept whole.
    var keptKinds: Set<Kind> {
        Set(all.flatMap(\.wantedKinds)).union(need == .distance ? [.contactList] : [])
    }

    /// The filters that are asked for a device.
    func selection(of target: Plan.Target) -> FilterSelection {
        let switches = target.preferences.filters
        guard !switches.isEmpty else { return usual }
        return all.indices.reduce(into: []) { selection, place in
            if all[place].availability.isActive(switches[all[place].name]) { selection.insert(.init(at: place)) }
        }
    }

    /// Those of `selection` that are asked before anything is rendered, in order.
    func beforeRendering(_ selection: FilterSelection) -> [Int] { places(selection.intersection(early)) }

    /// Those of `selection` that are asked about what was rendered, in order.
    func afterRendering(_ selection: FilterSelection) -> [Int] { places(selection.subtracting(early)) }

    /// The same of those in `selection`.
    func need(_ selection: FilterSelection) -> FollowNeed {
        places(selection).map { all[$0].need }.max() ?? .nothing
    }

    /// The recipient's own lists that those of `selection` read.
    func wantedKinds(_ selection: FilterSelection) -> Set<Kind> {
        Set(places(selection).flatMap { all[$0].wantedKinds })
    }

    private func places(_ selection: FilterSelection) -> [Int] {
        selection.isEmpty ? [] : all.indices.filter { selection.contains(at: $0) }
    }
}

/// Some of the filters, by their places in the operator's order.
struct FilterSelection: OptionSet, Hashable {
    /// How many filters there can be.
    static let limit = 64

    let rawValue: UInt64

    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    init(at place: Int) {
        rawValue = 1 << UInt64(place)
    }

    func contains(at place: Int) -> Bool { contains(FilterSelection(at: place)) }
}
