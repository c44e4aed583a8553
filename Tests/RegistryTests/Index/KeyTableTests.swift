import Nostr
import Testing

@testable import Registry

struct KeyTableTests {
    @Test func agreesWithADictionaryThroughInsertionsAndRemovals() {
        var generator = Lehmer(state: 1)
        // Few different keys, so that many meet again.
        let pool = (0..<3000).map { _ in Bytes32(random: &generator) }
        var table = KeyTable(hash: KeyHash(using: &generator), capacity: 0)
        var judge: Set<Bytes32> = []
        for step in 0..<40_000 {
            let key = pool[Int.random(in: pool.indices, using: &generator)]
            if Int.random(in: 0..<5, using: &generator) < (step < 20_000 ? 3 : 2) {
                #expect(table.insert(key).isNew == judge.insert(key).inserted)
            } else if let number = table.find(key) {
                table.remove(number)
                #expect(judge.remove(key) != nil)
            } else {
                #expect(!judge.contains(key))
            }
            #expect(table.count == judge.count)
        }
        #expect(Set(table.keys) == judge)
        for key in pool { #expect((table.find(key) != nil) == judge.contains(key)) }
        for number in 0..<table.count { #expect(table.find(table.keys[number]) == number) }
    }

    @Test func matchAgreesWithFind() {
        var generator = Lehmer(state: 2)
        let pool = (0..<1000).map { _ in Bytes32(random: &generator) }
        var table = KeyTable(hash: KeyHash(using: &generator), capacity: 10)
        for key in pool.prefix(500) { _ = table.insert(key) }
        for count in [0, 1, 7, 8, 9, 100] {
            let wanted = (0..<count).map { _ in pool[Int.random(in: pool.indices, using: &generator)] }
            var hits: [MatchHit] = []
            wanted.withUnsafeBufferPointer { table.match($0, into: &hits) }
            var expected: [MatchHit] = []
            for (position, key) in wanted.enumerated() {
                guard let number = table.find(key) else { continue }
                expected.append(
                    MatchHit(position: Int32(position), account: AccountNumber(rawValue: UInt32(number)))
                )
            }
            #expect(hits == expected)
        }
    }

    @Test func hashUsesEveryByteAndTheSeed() {
        var generator = Lehmer(state: 3)
        let hash = KeyHash(using: &generator)
        let other = KeyHash(using: &generator)
        let key = Bytes32(random: &generator)
        var hashes: Set<UInt64> = [hash(key), other(key)]
        for byte in 0..<32 {
            var changed = key
            withUnsafeMutableBytes(of: &changed.words) { $0[byte] ^= 1 }
            hashes.insert(hash(changed))
        }
        #expect(hashes.count == 34)
    }

    @Test func keysThatDifferOnlyAtTheEndAreSpread() {
        // A hash of the first bytes would put all of these in one chain, and this test would take minutes.
        var generator = Lehmer(state: 4)
        var table = KeyTable(hash: KeyHash(using: &generator), capacity: 0)
        for last in 0..<200_000 as Range<UInt64> { _ = table.insert(Bytes32(words: (1, 2, 3, last))) }
        #expect(table.count == 200_000)
        #expect(table.find(Bytes32(words: (1, 2, 3, 777))) == 777)
    }
}
