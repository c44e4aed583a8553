import Nostr
import Push
import Registry

/// A filter as the operator configured it.
package struct EventFilter: Sendable {
    /// The decision about an event if the filter fails.
    package enum OnError: String, Sendable, CaseIterable {
        case pass
        case drop
    }

    package var name: String
    package var availability: FilterAvailability
    package var onError: OnError
    /// The recipient's own lists that it reads: replaceable events.
    package var wantedKinds: [Kind] = []
    /// The information about the recipient's follows that it needs.
    package var need = FollowNeed.nothing
    /// Whether it runs after rendering and gets the notification.
    package var isAskedAfterRendering = false
    /// Answers questions with one decision each, in order. Called on the pipeline's thread, which waits.
    package var decide: @Sendable ([FilterQuestion]) -> [FilterDecision]

    package init(
        name: String,
        availability: FilterAvailability = .maySwitchOff,
        onError: OnError = .pass,
        decideTogether decide: @escaping @Sendable ([FilterQuestion]) -> [FilterDecision]
    ) {
        self.name = name
        self.availability = availability
        self.onError = onError
        self.decide = decide
    }
}

/// Whether devices may switch a filter on or off.
package enum FilterAvailability: String, Sendable, CaseIterable {
    /// Neither: it runs for all devices.
    case always
    /// It runs unless a device switches it off.
    case maySwitchOff = "may-switch-off"
    /// It runs for devices that switch it on.
    case maySwitchOn = "may-switch-on"

    /// Whether it runs for a device with that choice; nil means that the device made none.
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
    /// The filters for devices without choices, which are most.
    private let usual: FilterSelection

    /// Drops filters beyond ``FilterSelection/limit``.
    init(_ filters: [EventFilter]) {
        all = Array(filters.prefix(FilterSelection.limit))
        let places = all.indices
        early = places.reduce(into: []) { if !filters[$1].isAskedAfterRendering { $0.insert(.init(at: $1)) } }
        usual = places.reduce(into: []) { if filters[$1].availability.isActive(nil) { $0.insert(.init(at: $1)) } }
    }

    /// The most that any filter needs to know about the recipient's follows.
    var need: FollowNeed { all.map(\.need).max() ?? .nothing }

    /// The kinds of recipients' own lists that are stored whole.
    var keptKinds: Set<Kind> {
        Set(all.flatMap(\.wantedKinds)).union(need == .distance ? [.contactList] : [])
    }

    /// The filters that run for a device.
    func selection(of target: Plan.Target) -> FilterSelection {
        let switches = target.preferences.filters
        guard !switches.isEmpty else { return usual }
        return all.indices.reduce(into: []) { selection, place in
            if all[place].availability.isActive(switches[all[place].name]) { selection.insert(.init(at: place)) }
        }
    }

    /// The filters of `selection` that run before rendering, in order.
    func beforeRendering(_ selection: FilterSelection) -> [Int] { places(selection.intersection(early)) }

    /// The filters of `selection` that run after rendering, in order.
    func afterRendering(_ selection: FilterSelection) -> [Int] { places(selection.subtracting(early)) }

    /// The most that any filter of `selection` needs to know about the recipient's follows.
    func need(_ selection: FilterSelection) -> FollowNeed {
        places(selection).map { all[$0].need }.max() ?? .nothing
    }

    /// The recipient's own lists that the filters of `selection` read.
    func wantedKinds(_ selection: FilterSelection) -> Set<Kind> {
        Set(places(selection).flatMap { all[$0].wantedKinds })
    }

    private func places(_ selection: FilterSelection) -> [Int] {
        selection.isEmpty ? [] : all.indices.filter { selection.contains(at: $0) }
    }
}

/// A set of filters, by their position in the operator's order.
struct FilterSelection: OptionSet, Hashable {
    /// The maximum number of filters.
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
