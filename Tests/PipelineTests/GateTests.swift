import Nostr
import RandomTestSupport
import Testing

@testable import Pipeline
@testable import Registry

@Suite struct AcceptedEventsTests {
    private func ids(_ count: Int, seed: UInt64) -> [EventID] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            EventID(Bytes32(words: (generator.next(), generator.next(), generator.next(), generator.next())))
        }
    }

    @Test func latestEventsAreRememberedUpToTwiceTheLimit() {
        var accepted = AcceptedEvents(memory: 1_000)
        let ids = ids(10_000, seed: 1)
        for (place, id) in ids.enumerated() {
            #expect(!accepted.contains(id))
            accepted.insert(id)
            #expect(accepted.contains(id))
            #expect(accepted.contains(ids[max(0, place - 999)]))
            if place >= 2_000 { #expect(!accepted.contains(ids[place - 2_000])) }
        }
    }

    @Test func duplicateEventTakesNoFurtherSlot() {
        var accepted = AcceptedEvents(memory: 3)
        let ids = ids(3, seed: 2)
        accepted.insert(ids[0])
        for _ in 0..<10 { accepted.insert(ids[1]) }
        accepted.insert(ids[2])
        #expect(ids.allSatisfy { accepted.contains($0) })
    }

    @Test func idsThatDifferInOneBitAreDistinct() {
        var accepted = AcceptedEvents(memory: 10)
        let id = ids(1, seed: 3)[0]
        accepted.insert(id)
        for word in 0..<4 {
            for bit in 0..<64 as Range<UInt64> {
                var words = [id.bytes.words.0, id.bytes.words.1, id.bytes.words.2, id.bytes.words.3]
                words[word] ^= 1 << bit
                #expect(!accepted.contains(EventID(Bytes32(words: (words[0], words[1], words[2], words[3])))))
            }
        }
    }
}

@Suite struct MatchHitTests {
    /// Few accounts are looked through, many are in a set.
    @Test(arguments: [0, 1, 15, 16, 17, 40])
    func eachAccountIsNamedOnceAndInOrder(_ count: Int) {
        let numbers = (0..<count).map { AccountNumber(rawValue: UInt32(1000 - $0)) }
        let named = numbers + numbers.reversed() + numbers
        let hits = named.enumerated().map { MatchHit(position: Int32($0), account: $1) }
        #expect(hits.accounts(for: .textNote) == numbers)
    }

    /// A key for messages makes an account the recipient of gift wraps only.
    @Test func messageKeyMatchesOnlyGiftWraps() {
        let (own, other) = (AccountNumber(rawValue: 1), AccountNumber(rawValue: 2))
        let hits = [
            MatchHit(position: 0, account: other, tie: .messageKey), MatchHit(position: 1, account: own),
        ]
        #expect(hits.accounts(for: .textNote) == [own])
        #expect(hits.accounts(for: .giftWrap) == [other, own])
        #expect([hits[0]].accounts(for: .textNote).isEmpty)
    }
}
