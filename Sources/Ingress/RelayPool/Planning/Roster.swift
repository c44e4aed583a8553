import Nostr

/// The keys that are watched at one relay, in chunks that each fit into one filter. A key keeps its place.
struct Roster: Sendable {
    /// Places of one chunk.
    private(set) var chunkSize: Int
    private var places: [RosterEntry] = []
    private var index = PlaceTable()
    private var free: [UInt32] = []
    /// Keys in each chunk.
    private var sizes: [Int] = []

    init(chunkSize: Int) {
        self.chunkSize = chunkSize
    }

    var count: Int { index.count }

    /// Chunks that have keys.
    var chunks: [Int] { sizes.indices.filter { sizes[$0] > 0 } }

    /// Chunks that the keys would need without gaps.
    var chunksNeeded: Int { (count + chunkSize - 1) / chunkSize }

    func place(of key: PublicKey) -> UInt32? { index.find(key) { places[Int($0)].key } }

    func chunk(of place: UInt32) -> Int { Int(place) / chunkSize }

    func size(ofChunk chunk: Int) -> Int { chunk < sizes.count ? sizes[chunk] : 0 }

    /// The entry at `place`; nil if the place is empty.
    func entry(at place: UInt32) -> RosterEntry? {
        guard place < places.count, places[Int(place)].flags.contains(.used) else { return nil }
        return places[Int(place)]
    }

    /// The entries of a chunk.
    func entries(ofChunk chunk: Int) -> [RosterEntry] {
        range(ofChunk: chunk).compactMap { places[$0].flags.contains(.used) ? places[$0] : nil }
    }

    /// Changes the entry at `place`; its key must stay.
    mutating func change<Result>(at place: UInt32, _ body: (inout RosterEntry) -> Result) -> Result? {
        guard place < places.count, places[Int(place)].flags.contains(.used) else { return nil }
        return body(&places[Int(place)])
    }

    /// Changes all entries of a chunk.
    mutating func change(chunk: Int, _ body: (UInt32, inout RosterEntry) -> Void) {
        for place in range(ofChunk: chunk) where places[place].flags.contains(.used) {
            body(UInt32(place), &places[place])
        }
    }

    /// Changes all entries.
    mutating func changeAll(_ body: (UInt32, inout RosterEntry) -> Void) {
        for place in places.indices where places[place].flags.contains(.used) {
            body(UInt32(place), &places[place])
        }
    }

    /// Adds a key that is not here. Returns its place.
    mutating func insert(_ entry: RosterEntry) -> UInt32 {
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

    /// Removes a key; returns the chunk it was in.
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
        self = Roster(chunkSize: chunkSize)
        places.reserveCapacity(entries.count)
        for entry in entries { _ = insert(entry) }
    }

    private func range(ofChunk chunk: Int) -> Range<Int> {
        let start = min(chunk * chunkSize, places.count)
        return start..<min(start + chunkSize, places.count)
    }
}

/// A watched key, and how far it was read for. There may be a million of these, so it is small.
struct RosterEntry: Sendable {
    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8

        static let used = Flags(rawValue: 1)
        static let established = Flags(rawValue: 2)
        /// Named in a REQ of this connection.
        static let asked = Flags(rawValue: 4)
        /// In a subscription whose stored events have ended.
        static let live = Flags(rawValue: 8)
    }

    var key: PublicKey
    /// Seconds since 1970.
    var since: UInt32
    /// Read for from that second on instead of the moment of its chunk; 0: from that of its chunk.
    var behindSince: UInt32 = 0
    /// The sweep that reads for the key; 0: none.
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
