import Nostr
import Testing

@testable import Pipeline
@testable import Registry

@Suite struct MatchHitTests {
    /// Few accounts are looked through, many are in a set.
    @Test(arguments: [0, 1, 15, 16, 17, 40])
    func eachAccountIsNamedOnceAndInOrder(_ count: Int) {
        let numbers = (0..<count).map { AccountNumber(rawValue: UInt32(1000 - $0)) }
        let named = numbers + numbers.reversed() + numbers
        let hits = named.enumerated().map { MatchHit(position: Int32($0), account: $1) }
        #expect(hits.accounts(for: .textNote) == numbers)
    }

    /// A key for messages makes an account the recipient of gift wraps and of nothing else.
    @Test func anEventOfAnotherKindIsNoConcernOfWhoeverHasAMessageKey() {
        let (own, other) = (AccountNumber(rawValue: 1), AccountNumber(rawValue: 2))
        let hits = [
            MatchHit(position: 0, account: other, tie: .messageKey), MatchHit(position: 1, account: own),
        ]
        #expect(hits.accounts(for: .textNote) == [own])
        #expect(hits.accounts(for: .giftWrap) == [other, own])
        #expect([hits[0]].accounts(for: .textNote).isEmpty)
    }

    @Test func whatThereIsOneOfIsFoundLikeWhatThereAreSeveralOf() {
        var values = MostlyOne<Int>()
        #expect(values.count == 0)
        #expect(values.first { _ in true } == nil)
        for number in 1...4 {
            values.append(number)
            #expect(values.count == number)
        }
        for number in 1...4 { #expect(values.first { $0 == number } == number) }
        #expect(values.first { $0 > 1 } == 2)
        #expect(values.first { $0 > 4 } == nil)
    }
}
