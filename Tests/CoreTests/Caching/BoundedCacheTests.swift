import Core
import Testing

struct BoundedCacheTests {
    @Test(arguments: [1, 2, 10, 11])
    func cacheKeepsUsedEntriesAndIsBounded(capacity: Int) {
        var cache = BoundedCache<Int, String>(capacity: capacity)
        for number in 0..<1000 {
            cache.set("\(number)", for: number)
            #expect(cache.value(of: 0) == "0" || capacity < 4)
            #expect(cache.count <= max(2, capacity))
        }
        #expect(cache.value(of: 500) == nil && cache.value(of: 999) == "999")
    }

    @Test func missingEntryIsCreated() {
        struct Refusal: Error {}
        var cache = BoundedCache<Int, String>(capacity: 4)
        #expect(cache.value(of: 1) { "one" } == "one")
        #expect(cache.value(of: 1) { "another" } == "one")
        #expect(throws: Refusal.self) { try cache.value(of: 2) { throw Refusal() } }
        #expect(!cache.contains(2) && cache.count == 1)
        // A value in the older generation is not made again.
        for number in 3...4 { _ = cache.value(of: number) { "\(number)" } }
        #expect(cache.value(of: 1) { "another" } == "one")
        #expect(cache.count <= 4)
    }

    @Test func keepsTheLatestHalf() {
        var cache = BoundedCache<Int, Void>(capacity: 10)
        for number in 0..<1000 {
            cache.insert(number)
            #expect((max(0, number - 4)...number).allSatisfy(cache.contains))
        }
    }

    @Test func cacheIsBoundedByCost() {
        var cache = BoundedCache<Int, [UInt8]>(capacity: 100_000) { 100 + $0.count }
        for number in 0..<200 { cache.set([UInt8](repeating: 0, count: 5_000), for: number) }
        #expect((5...20).contains(cache.count))
        for number in 0..<200 { cache.set([UInt8](repeating: 0, count: 5_000), for: number % 3) }
        cache.set([], for: 3)
        #expect((0...3).allSatisfy { cache.value(of: $0) != nil }, "a value in place of another costs nothing more")
        cache.set([UInt8](repeating: 0, count: 200_000), for: 4)
        #expect(cache.value(of: 4) != nil && cache.value(of: 0) != nil)
    }

    @Test func growingValueEvictsFirst() {
        var cache = BoundedCache<Int, Int>(capacity: 20) { $0 }
        for size in 1...10 {
            for key in 0..<5 { cache.set(size, for: key) }
            #expect((0..<5).reduce(0) { $0 + (cache.value(of: $1) ?? 0) } <= 20)
        }
    }

    @Test func removedEntryIsForgotten() {
        var cache = BoundedCache<Int, String?>(capacity: 10)
        for number in 0..<10 { cache.set(number < 5 ? nil : "\(number)", for: number) }
        #expect(cache.count == 10 && cache.value(of: 0) == .some(nil))
        cache.remove(0)
        cache.remove { key, value in value == nil || key == 9 }
        #expect(cache.count == 4 && !cache.contains(0) && !cache.contains(9) && cache.contains(8))
        cache.removeAll()
        #expect(cache.count == 0)
    }
}
