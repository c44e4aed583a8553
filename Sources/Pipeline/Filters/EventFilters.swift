import Nostr
import Notifications
import Registry

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

    var isEmpty: Bool { all.isEmpty }

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
