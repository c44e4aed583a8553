import Nostr
import Registry

/// The events that were accepted lately: at least the last so many, at most twice as many.
///
/// In two generations: when the younger is full, the older is forgotten. Keeps a secret hash of 64 bits of each id, so
/// that a million events take 16 MiB, which are never given back and asked for again. That another event has the same
/// hash happens once in ten trillion.
struct AcceptedEvents {
    private let hash: KeyHash
    private let memory: Int
    private var younger = HashTable()
    private var older = HashTable()

    /// `memory` is how many events are remembered at least.
    init(memory: Int) {
        var generator = SystemRandomNumberGenerator()
        hash = KeyHash(using: &generator)
        self.memory = max(1, memory)
    }

    func contains(_ id: EventID) -> Bool {
        let hash = hash(id.bytes)
        return younger.contains(hash) || older.contains(hash)
    }

    mutating func insert(_ id: EventID) {
        if younger.count == memory {
            swap(&younger, &older)
            younger.removeAll()
        }
        younger.insert(hash(id.bytes))
    }
}

/// A set of hashes, in a table that is at most half full and keeps its size.
private struct HashTable {
    /// 0: a free place.
    private var places = [UInt64](repeating: 0, count: 64)
    private(set) var count = 0

    private var mask: Int { places.count - 1 }

    func contains(_ hash: UInt64) -> Bool { places[place(of: Self.value(hash))] != 0 }

    mutating func insert(_ hash: UInt64) {
        let value = Self.value(hash)
        let place = place(of: value)
        guard places[place] == 0 else { return }
        places[place] = value
        count += 1
        if count * 2 > places.count { grow() }
    }

    mutating func removeAll() {
        for place in places.indices { places[place] = 0 }
        count = 0
    }

    /// Where that value stands, or may be put.
    private func place(of value: UInt64) -> Int {
        var place = Int(truncatingIfNeeded: value) & mask
        while places[place] != 0, places[place] != value { place = (place + 1) & mask }
        return place
    }

    private mutating func grow() {
        let values = places
        places = [UInt64](repeating: 0, count: values.count * 2)
        for value in values where value != 0 { places[place(of: value)] = value }
    }

    private static func value(_ hash: UInt64) -> UInt64 { max(hash, 1) }
}
