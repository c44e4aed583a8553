import Testing

@testable import HTTPClient

struct FairSharesTests {
    /// Returns each share's part when all take in turn until none may.
    private func shares(_ count: UInt32, of room: Int) -> [Int] {
        var shares = FairShares(room: room)
        var taken = [Int](repeating: 0, count: Int(count))
        var isOver = false
        while !isOver {
            isOver = true
            for share in 0..<count where shares.hasRoom(for: share) {
                shares.take(share)
                taken[Int(share)] += 1
                isOver = false
            }
        }
        return taken
    }

    @Test(arguments: [(1, 256), (2, 170), (3, 128), (20, 24)] as [(UInt32, Int)])
    func manyHaveEqualShares(_ count: UInt32, _ each: Int) {
        let taken = shares(count, of: 512)
        #expect(taken.allSatisfy { abs($0 - each) <= 1 })
    }

    @Test(arguments: [1, 2, 7, 100] as [UInt32])
    func lateShareStillFindsCapacity(_ hungry: UInt32) {
        var shares = FairShares(room: 512)
        for share in 1...hungry {
            while shares.hasRoom(for: share) { shares.take(share) }
        }
        #expect(shares.taken < 512 || hungry > 8)
        // If no capacity is left for halving, a returned part goes to a share that has none.
        if shares.taken == 512 { shares.giveBack(1) }
        #expect(shares.hasRoom(for: 0))
    }

    @Test func returnedCapacityCanBeTakenAgain() {
        var shares = FairShares(room: 4)
        shares.take(1)
        shares.take(1)
        #expect(!shares.hasRoom(for: 1))
        shares.giveBack(1)
        #expect(shares.hasRoom(for: 1))
        shares.giveBack(1)
        shares.giveBack(1)
        #expect(shares.taken == 0)
    }
}
