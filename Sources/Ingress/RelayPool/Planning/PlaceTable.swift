import Nostr

/// A hash table from keys to their places with four bytes a slot. It does not hold the keys; the owner of the places
/// does.
///
/// Open addressing with linear probing. Strangers choose the keys, so the hash is Swift's, which is seeded.
struct PlaceTable: Sendable {
    private static let empty = UInt32.max

    private var slots: [UInt32] = []
    private(set) var count = 0

    /// The place of `key`. `keyAt` returns the key at a place.
    func find(_ key: PublicKey, _ keyAt: (UInt32) -> PublicKey) -> UInt32? {
        guard !slots.isEmpty else { return nil }
        let place = slots[slot(of: key, keyAt)]
        return place == Self.empty ? nil : place
    }

    /// Adds a key that is not there.
    mutating func insert(_ key: PublicKey, at place: UInt32, _ keyAt: (UInt32) -> PublicKey) {
        if (count + 1) * 3 > slots.count * 2 { grow(keyAt) }
        slots[slot(of: key, keyAt)] = place
        count += 1
    }

    /// Removes a key; returns its place.
    mutating func remove(_ key: PublicKey, _ keyAt: (UInt32) -> PublicKey) -> UInt32? {
        guard !slots.isEmpty else { return nil }
        var hole = slot(of: key, keyAt)
        let place = slots[hole]
        guard place != Self.empty else { return nil }
        count -= 1
        // The entries after the hole must still be found: each moves up unless that puts it before its home slot.
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

    /// Where the key is, or would be put.
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
