import Nostr
import Registry
import Testing

@testable import RemoteSigning

@Suite struct SessionTableTests {
    private let client = PublicKey(Bytes32(words: (1, 0, 0, 0)))
    private let now: Int64 = 1_773_446_400_000

    private func id(_ number: UInt64) -> EventID { EventID(Bytes32(words: (number, 0, 0, 0))) }

    @Test func theUseOfASessionIsNotedOnceAnHour() {
        let session = RemoteSession(client: client, openedAt: 0, usedAt: now)
        var table = SessionTable(sessions: [session], now: now)
        let moments: [Int64] = [0, 3_599_999, 3_600_000, 3_600_001, 7_200_000]
        let noted = moments.map { table.use(by: client, now: now + $0)?.usedAt }
        #expect(noted == [nil, nil, now + 3_600_000, nil, now + 7_200_000])
        let stranger = table.use(by: PublicKey(Bytes32(words: (2, 0, 0, 0))), now: now)
        #expect(stranger == nil)
    }

    @Test func aLateCopyOfAConnectMakesNoSessionOlder() {
        let session = RemoteSession(client: client, openedAt: 500, usedAt: now)
        let table = SessionTable(sessions: [session], now: now)
        #expect(table.session(of: client, connectedAt: 400, now: now).openedAt == 500)
        #expect(table.session(of: client, connectedAt: 600, now: now).openedAt == 600)
        #expect(!table.mayClose(client, by: 499))
        #expect(table.mayClose(client, by: 500))
    }

    @Test func requestsAreRememberedForAsLongAsTheyAreFresh() {
        var table = SessionTable(sessions: [], now: now)
        let madeAt = now / 1000 + 600
        let first = table.admit(id(1), from: client, madeAt: madeAt, now: now)
        // Just before the memory turns over, and at the last moment at which the event is fresh.
        let filler = table.admit(id(2), from: client, madeAt: madeAt, now: now + 1_199_999)
        let again = table.admit(id(1), from: client, madeAt: madeAt, now: now + 1_200_000)
        let stale = table.admit(id(1), from: client, madeAt: madeAt, now: now + 1_201_000)
        #expect([first, filler, again, stale] == [.admitted, .admitted, .repeated, .stale])
    }

    @Test func aRefusedRequestMayComeAgain() {
        var limits = SessionLimits()
        limits.strangersRequests = RateLimit(burst: 1, interval: 1_000)
        var table = SessionTable(sessions: [], limits: limits, now: now)
        let answers = [(1, 0), (2, 0), (2, 1_000), (2, 1_000)].map { number, later in
            table.admit(id(number), from: client, madeAt: now / 1000, now: now + later)
        }
        #expect(answers == [.admitted, .limited, .admitted, .repeated])
    }

    @Test func whatIsRememberedOfStrangersIsBounded() {
        var limits = SessionLimits()
        limits.strangers = 10
        limits.allStrangersRequests = RateLimit(burst: 1_000_000, interval: 1)
        var table = SessionTable(sessions: [], limits: limits, now: now)
        var admitted = 0
        for number in 0..<1_000 as Range<UInt64> {
            let key = PublicKey(Bytes32(words: (number, 7, 0, 0)))
            let admission = table.admit(id(number), from: key, madeAt: now / 1000, now: now)
            if admission == .admitted { admitted += 1 }
        }
        #expect(admitted == 1_000)
        #expect(table.strangerCount <= 10)
    }

    @Test func aClockThatJumpsBackSilencesNobodyForLong() {
        let limit = RateLimit(burst: 3, interval: 1_000)
        var debt: RateLimit.Debt = 0
        let before = (0..<4).map { _ in limit.take(&debt, at: now) }
        #expect(before == [true, true, true, false])
        let past = now - 86_400_000
        let after = [0, 1_000, 2_000].map { limit.take(&debt, at: past + $0) }
        #expect(after == [false, true, true])
    }

    @Test func refusalsAreToldOnceAMinute() {
        var count = RefusalCount()
        let told = [("stale", 0), ("stale", 1), ("limited", 59_999), ("stale", 60_000), ("stale", 60_001)].map {
            count.add($0, now: Int64($1))
        }
        #expect(told == [["stale": 1], nil, nil, ["stale": 2, "limited": 1], nil])
    }
}
