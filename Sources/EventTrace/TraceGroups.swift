import Nostr

/// Where one entry of a write goes.
struct TracePlace {
    /// Its number.
    let row: Int64
    /// Its place among the entries.
    let index: Int
    /// The event that it is found with; nil: it is found by its delivery.
    let event: EventID?
    /// Whether it belongs to the crowd's segments.
    let isOfCrowd: Bool
}

/// Divides entries of one write into rows: those of an event go together, in their order, and each of the others by
/// itself.
struct TraceGroups {
    /// How many entries a row has at most: reading a part of a long history should not read all of it.
    private static let most = 256

    private struct Group {
        let first: Int
        var last: Int
        var count = 1
    }

    private let places: ArraySlice<TracePlace>
    private var groups: [Group] = []
    /// The next entry of the same row, by place.
    private var next: [Int]

    init(_ places: ArraySlice<TracePlace>) {
        self.places = places
        next = Array(repeating: -1, count: places.count)
        groups.reserveCapacity(places.count)
        var open: [EventID: Int] = [:]
        open.reserveCapacity(places.count)
        var latest: (event: EventID, group: Int)?
        for (place, entry) in places.enumerated() {
            guard let event = entry.event else {
                groups.append(Group(first: place, last: place))
                continue
            }
            // Entries of an event come in a row, mostly.
            let known = latest?.event == event ? latest?.group : open[event]
            if let known, groups[known].count < Self.most {
                next[groups[known].last] = place
                groups[known].last = place
                groups[known].count += 1
                latest = (event, known)
            } else {
                groups.append(Group(first: place, last: place))
                open[event] = groups.count - 1
                latest = (event, groups.count - 1)
            }
        }
    }

    /// Calls `body` with each row's entries, packed, and the place of the first.
    func forEach(of entries: RecordsOfWrite, _ body: (TracePlace, PackedEntries) throws -> Void) rethrows {
        var packed = PackedEntries()
        for group in groups {
            packed.removeAll()
            var place = group.first
            while place >= 0 {
                let entry = places[places.startIndex + place]
                let time = entries[entry.index].time
                entries.withFields(of: entry.index) { packed.append($0, at: time, row: entry.row) }
                place = next[place]
            }
            try body(places[places.startIndex + group.first], packed)
        }
    }
}
