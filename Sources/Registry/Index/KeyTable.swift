import Nostr

/// Numbers 32-byte keys from 0 without a gap, and finds them again.
///
/// Open addressing over a byte and a number a place: a key that is not here costs one byte read as a rule, and that
/// byte is in cache. The keys themselves lie one after the other. About 42 bytes a key at a million.
struct KeyTable: ~Copyable {
    /// In the order of their numbers.
    private(set) var keys: [Bytes32] = []
    /// 0: a free place; else seven bits of the key's hash, and the top bit.
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

    /// A power of two that is at most three fifths full.
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

    /// The key's number, and whether it was just given.
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

    /// Forgets the key of that number. The last key takes the number over.
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

    /// Frees a place, and moves up those behind it that were only there because it was taken.
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

    /// Appends a hit for every one of `wanted` that is here. Eight are looked for at a time, so that their reads of
    /// memory overlap.
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
