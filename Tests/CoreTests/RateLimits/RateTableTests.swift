import Core
import Testing
import TimeTestSupport

@Suite struct RateTableTests {
    @Test func eachKeyHasItsOwnBurstAndRate() {
        var table = RateTable<Int>(burst: 2, perSecond: 1, capacity: 10)
        let asked: [(Int, Timestamp)] = [(1, 0), (1, 0), (1, 0), (2, 0), (1, 1_000), (1, 1_000)]
        let passing = asked.map { table.take($0, now: $1) }
        #expect(passing == [true, true, false, true, true, false])
    }

    @Test func activeClientIsNotForgottenWhileOthersAre() {
        var table = RateTable<Int>(burst: 1, perSecond: 0.001, capacity: 10)
        let first = table.take(0, now: 0)
        #expect(first)
        for other in 1...1_000 {
            _ = table.take(other, now: 0)
            let again = table.take(0, now: 0)
            #expect(!again && table.count <= 10)
        }
    }

    @Test func returnedTokenDoesNotCount() {
        var table = RateTable<Int>(burst: 2, perSecond: 0.001, capacity: 4)
        for _ in 0..<10 {
            let passes = table.take(1, now: 0)
            #expect(passes)
            table.giveBack(1)
        }
        table.giveBack(2)
        // Only as many as the capacity allows.
        let passing = (0..<3).map { _ in table.take(1, now: 0) }
        #expect(passing == [true, true, false])
    }

    @Test(arguments: [(100.0, 1), (1.0, 1), (0.5, 2), (1.0 / 60, 60)])
    func retryAfterIsTheTimeForOneMore(perSecond: Double, seconds: Int) {
        #expect(RateTable<Int>(burst: 1, perSecond: perSecond, capacity: 2).pause == .seconds(seconds))
    }
}
