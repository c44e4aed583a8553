import Nostr

/// The keys that are watched at one relay, in chunks that each fit into one filter. A key keeps its place.
struct KeyTable: Sendable {
    /// The number of places in one chunk.
    private(set) var chunkSize: Int
    private var places: [KeyEntry] = []
    private var index = PlaceTable()
    private var free: [UInt32] = []
    /// The number of keys in each chunk.
    private var sizes: [Int] = []

    init(chunkSize: Int) {
        self.chunkSize = chunkSize
    }

    var count: Int { index.count }

    /// The chunks that have keys.
    var chunks: [Int] { sizes.indices.filter { sizes[$0] > 0 } }

    /// The number of chunks that the keys would need without gaps.
    var chunksNeeded: Int { (count + chunkSize - 1) / chunkSize }

    func place(of key: PublicKey) -> UInt32? { index.find(key) { places[Int($0)].key } }

    func chunk(of place: UInt32) -> Int { Int(place) / chunkSize }

    func size(ofChunk chunk: Int) -> Int { chunk < sizes.count ? sizes[chunk] : 0 }

    /// The entry at `place`; nil if the place is empty.
    func entry(at place: UInt32) -> KeyEntry? {
        guard place < places.count, places[Int(place)].flags.contains(.used) else { return nil }
        return places[Int(place)]
    }

    func entries(ofChunk chunk: Int) -> [KeyEntry] {
        range(ofChunk: chunk).compactMap { places[$0].flags.contains(.used) ? places[$0] : nil }
    }

    /// Changes the entry at `place`. `body` must not change its key.
    mutating func change<Result>(at place: UInt32, _ body: (inout KeyEntry) -> Result) -> Result? {
        guard place < places.count, places[Int(place)].flags.contains(.used) else { return nil }
        return body(&places[Int(place)])
    }

    /// Changes all entries of a chunk, or of all chunks.
    mutating func change(chunk: Int?, _ body: (UInt32, inout KeyEntry) -> Void) {
        for place in range(ofChunk: chunk) where places[place].flags.contains(.used) {
            body(UInt32(place), &places[place])
        }
    }

    /// Adds a key that is not in the table. Returns its place.
    mutating func insert(_ entry: KeyEntry) -> UInt32 {
        let place: UInt32
        if let hole = free.popLast() {
            place = hole
            places[Int(hole)] = entry
        } else {
            place = UInt32(places.count)
            places.append(entry)
        }
        index.insert(entry.key, at: place) { [places] in places[Int($0)].key }
        let chunk = chunk(of: place)
        if chunk == sizes.count { sizes.append(0) }
        sizes[chunk] += 1
        return place
    }

    /// Removes a key. Returns the chunk it was in.
    mutating func remove(_ key: PublicKey) -> Int? {
        guard let place = index.remove(key, { [places] in places[Int($0)].key }) else { return nil }
        places[Int(place)].flags = []
        free.append(place)
        let chunk = chunk(of: place)
        sizes[chunk] -= 1
        return chunk
    }

    /// Gives every key a new place, in chunks of that size without gaps.
    mutating func rearrange(chunkSize: Int) {
        let entries = places.filter { $0.flags.contains(.used) }
        self = KeyTable(chunkSize: chunkSize)
        places.reserveCapacity(entries.count)
        for entry in entries { _ = insert(entry) }
    }

    private func range(ofChunk chunk: Int?) -> Range<Int> {
        guard let chunk else { return places.indices }
        let start = min(chunk * chunkSize, places.count)
        return start..<min(start + chunkSize, places.count)
    }
}

/// A watched key and its reading state. It is kept small because there may be a million of them.
struct KeyEntry: Sendable {
    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8

        static let used = Flags(rawValue: 1)
        static let established = Flags(rawValue: 2)
        /// Named in a REQ on this connection.
        static let asked = Flags(rawValue: 4)
        /// In a subscription whose stored events have ended.
        static let live = Flags(rawValue: 8)
    }

    var key: PublicKey
    /// Seconds since 1970.
    var since: UInt32
    /// The second from which to read for this key; 0: from the second of its chunk.
    var behindSince: UInt32 = 0
    /// The sweep that reads for the key; 0: no sweep.
    var sweep: UInt32 = 0
    var interest: Watched.Interest
    var flags: Flags

    init(_ watched: Watched) {
        key = watched.key
        since = UInt32(clamping: max(1, watched.since))
        interest = watched.interest
        flags = watched.isEstablished ? [.used, .established] : .used
    }

    var isEstablished: Bool { flags.contains(.established) }
    var isLive: Bool { flags.contains(.live) }
}

/// A hash table from keys to their places with four bytes a slot. The owner of the places holds the keys.
///
/// It uses open addressing with linear probing. Outsiders choose the keys, so it uses Swift's seeded hash.
struct PlaceTable: Sendable {
    private static let empty = UInt32.max

    private var slots: [UInt32] = []
    private(set) var count = 0

    /// Returns the place of `key`. `keyAt` returns the key at a place.
    func find(_ key: PublicKey, _ keyAt: (UInt32) -> PublicKey) -> UInt32? {
        guard !slots.isEmpty else { return nil }
        let place = slots[slot(of: key, keyAt)]
        return place == Self.empty ? nil : place
    }

    /// Adds a key that is not in the table.
    mutating func insert(_ key: PublicKey, at place: UInt32, _ keyAt: (UInt32) -> PublicKey) {
        if (count + 1) * 3 > slots.count * 2 { grow(keyAt) }
        slots[slot(of: key, keyAt)] = place
        count += 1
    }

    /// Removes a key. Returns its place.
    mutating func remove(_ key: PublicKey, _ keyAt: (UInt32) -> PublicKey) -> UInt32? {
        guard !slots.isEmpty else { return nil }
        var hole = slot(of: key, keyAt)
        let place = slots[hole]
        guard place != Self.empty else { return nil }
        count -= 1
        // The entries after the hole must stay reachable: each moves up unless that puts it before its home slot.
        var next = hole
        while true {
            next = (next + 1) & mask
            let moved = slots[next]
            guard moved != Self.empty else { break }
            let home = keyAt(moved).hashValue & mask
            if (next - home) & mask >= (next - hole) & mask {
                slots[hole] = moved
                hole = next
            }
        }
        slots[hole] = Self.empty
        return place
    }

    private var mask: Int { slots.count - 1 }

    /// Returns the slot of the key, or the empty slot to put it in.
    private func slot(of key: PublicKey, _ keyAt: (UInt32) -> PublicKey) -> Int {
        var slot = key.hashValue & mask
        while slots[slot] != Self.empty, keyAt(slots[slot]) != key { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow(_ keyAt: (UInt32) -> PublicKey) {
        let places = slots.filter { $0 != Self.empty }
        slots = Array(repeating: Self.empty, count: max(16, slots.count * 2))
        for place in places { slots[slot(of: keyAt(place), keyAt)] = place }
    }
}

/// A key that is watched at one relay.
package struct Watched: Sendable, Hashable {
    /// The events of a key that are watched.
    package struct Interest: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Events that name the key in a `p` tag.
        package static let addressed = Interest(rawValue: 1)
        /// The key's own relay lists, device lists and registrations, and its contact lists if those are asked for.
        package static let authored = Interest(rawValue: 2)
    }

    package var key: PublicKey
    package var interest: Interest
    /// Older events at this relay do not count, except gift wraps, which are dated back. In seconds since 1970.
    package var since: Int64
    /// Whether the events that the relay had stored for the key were read before. Until then, stored gift wraps count
    /// as old, because their date is not reliable (NIP-59).
    package var isEstablished: Bool

    package init(key: PublicKey, interest: Interest, since: Int64, isEstablished: Bool) {
        self.key = key
        self.interest = interest
        self.since = since
        self.isEstablished = isEstablished
    }
}

/// A change to the watched keys of one relay.
package enum WatchChange: Sendable, Hashable {
    /// Adds a watched key or changes how it is watched.
    case put(Watched)
    case remove(PublicKey)
}

/// The kinds that relays are asked for, as rules and filters determine them.
package struct RequestedKinds: Sendable, Hashable {
    /// Kinds that are requested by the keys they name; nil: every kind.
    package var addressedKinds: Set<Kind>?
    /// Additional replaceable kinds that are requested by author, such as contact lists (kind 3).
    package var furtherLists: Set<Kind>

    package init(addressedKinds: Set<Kind>? = nil, furtherLists: Set<Kind> = []) {
        self.addressedKinds = addressedKinds
        self.furtherLists = furtherLists
    }
}
