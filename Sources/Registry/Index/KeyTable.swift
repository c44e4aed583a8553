import Nostr

/// A hash table that gives 32-byte keys consecutive numbers from 0.
///
/// Uses open addressing with a one-byte tag and a number per slot. A lookup of a missing key usually reads one byte,
/// which is in the CPU's cache. The keys are in a separate array. A million keys take about 42 bytes each.
struct KeyTable: ~Copyable {
    /// In the order of their numbers.
    private(set) var keys: [Bytes32] = []
    /// For each slot, 0 if it is free; else seven bits of the key's hash, and the top bit.
    private var tags: [UInt8]
    private var numbers: [UInt32]
    private var mask: Int
    private let hash: KeyHash

    init(hash: KeyHash, capacity: Int) {
        self.hash = hash
        let places = Self.places(for: capacity)
        tags = Array(repeating: 0, count: places)
        numbers = Array(repeating: 0, count: places)
        mask = places - 1
        keys.reserveCapacity(capacity)
    }

    var count: Int { keys.count }

    /// Returns a number of slots: a power of two of which `count` keys fill at most three fifths.
    private static func places(for count: Int) -> Int {
        var places = 16
        while places * 3 < count * 5 { places *= 2 }
        return places
    }

    @inline(__always)
    private static func tag(_ hash: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: hash >> 57) | 0x80 }

    func find(_ key: Bytes32) -> Int? {
        place(of: key).map { Int(numbers[$0]) }
    }

    private func place(of key: Bytes32) -> Int? {
        let hash = hash(key)
        var place = Int(truncatingIfNeeded: hash) & mask
        while tags[place] != 0 {
            if tags[place] == Self.tag(hash), keys[Int(numbers[place])] == key { return place }
            place = (place + 1) & mask
        }
        return nil
    }

    /// Inserts a key if it is missing. Returns its number, and whether it is new.
    mutating func insert(_ key: Bytes32) -> (number: Int, isNew: Bool) {
        if let number = find(key) { return (number, false) }
        if (keys.count + 1) * 5 > tags.count * 3 { grow() }
        occupy(with: key, number: keys.count)
        keys.append(key)
        return (keys.count - 1, true)
    }

    private mutating func occupy(with key: Bytes32, number: Int) {
        let hash = hash(key)
        var place = Int(truncatingIfNeeded: hash) & mask
        while tags[place] != 0 { place = (place + 1) & mask }
        tags[place] = Self.tag(hash)
        numbers[place] = UInt32(truncatingIfNeeded: number)
    }

    private mutating func grow() {
        let places = tags.count * 2
        tags = Array(repeating: 0, count: places)
        numbers = Array(repeating: 0, count: places)
        mask = places - 1
        for number in keys.indices { occupy(with: keys[number], number: number) }
    }

    /// Removes the key with that number. The last key gets its number.
    mutating func remove(_ number: Int) {
        guard keys.indices.contains(number), let freed = place(of: keys[number]) else { return }
        vacate(freed)
        let last = keys.count - 1
        if number != last, let place = place(of: keys[last]) {
            numbers[place] = UInt32(truncatingIfNeeded: number)
            keys[number] = keys[last]
        }
        keys.removeLast()
    }

    /// Frees a slot, and moves up the entries that were displaced because it was taken.
    private mutating func vacate(_ freed: Int) {
        var hole = freed
        var place = freed
        while true {
            place = (place + 1) & mask
            guard tags[place] != 0 else { break }
            let home = Int(truncatingIfNeeded: hash(keys[Int(numbers[place])])) & mask
            guard (place - home) & mask >= (place - hole) & mask else { continue }
            tags[hole] = tags[place]
            numbers[hole] = numbers[place]
            hole = place
        }
        tags[hole] = 0
    }

    /// Appends a hit for each of `wanted` that is in the table. Looks up eight at a time, so that their memory reads
    /// overlap.
    func match(_ wanted: UnsafeBufferPointer<Bytes32>, into hits: inout [MatchHit]) {
        guard !keys.isEmpty else { return }
        tags.withUnsafeBufferPointer { tags in
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 8) { hashes in
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8) { found in
                    var start = 0
                    while start < wanted.count {
                        let count = min(8, wanted.count - start)
                        for index in 0..<count {
                            let hash = hash(wanted[start + index])
                            hashes[index] = hash
                            found[index] = tags[Int(truncatingIfNeeded: hash) & mask]
                        }
                        for index in 0..<count where found[index] != 0 {
                            if let number = resolve(wanted[start + index], hash: hashes[index], tags: tags) {
                                hits.append(
                                    MatchHit(
                                        position: Int32(truncatingIfNeeded: start + index),
                                        account: AccountNumber(rawValue: number)
                                    )
                                )
                            }
                        }
                        start += count
                    }
                }
            }
        }
    }

    @inline(__always)
    private func resolve(_ key: Bytes32, hash: UInt64, tags: UnsafeBufferPointer<UInt8>) -> UInt32? {
        var place = Int(truncatingIfNeeded: hash) & mask
        let wanted = Self.tag(hash)
        while tags[place] != 0 {
            if tags[place] == wanted, keys[Int(numbers[place])] == key { return numbers[place] }
            place = (place + 1) & mask
        }
        return nil
    }
}
