import Core
import Nostr
import Registry
import Testing
import TimeTestSupport

@testable import Relays

@Suite struct SessionTableTests {
    private let client = PublicKey(Bytes32(words: (1, 0, 0, 0)))
    private let now: Timestamp = 1_773_446_400_000

    private func id(_ number: UInt64) -> EventID { EventID(Bytes32(words: (number, 0, 0, 0))) }

    @Test func theUseOfASessionIsNotedOnceAnHour() {
        let session = RemoteSession(client: client, openedAt: 0, usedAt: now)
        var table = SessionTable(sessions: [session], now: now)
        let spans: [Duration] = [0, 3_599_999, 3_600_000, 3_600_001, 7_200_000].map(Duration.milliseconds)
        let noted = spans.map { table.use(by: client, now: now + $0)?.usedAt }
        #expect(noted == [nil, nil, now + .hours(1), nil, now + .hours(2)])
        let stranger = table.use(by: PublicKey(Bytes32(words: (2, 0, 0, 0))), now: now)
        #expect(stranger == nil)
    }

    @Test func lateCopyOfAConnectDoesNotAgeTheSession() {
        let session = RemoteSession(client: client, openedAt: 500, usedAt: now)
        let table = SessionTable(sessions: [session], now: now)
        #expect(table.session(of: client, connectedAt: 400, now: now).openedAt == 500)
        #expect(table.session(of: client, connectedAt: 600, now: now).openedAt == 600)
        #expect(!table.mayClose(client, by: 499))
        #expect(table.mayClose(client, by: 500))
    }

    @Test func requestsAreRememberedForAsLongAsTheyAreFresh() {
        var table = SessionTable(sessions: [], now: now)
        let madeAt = now.seconds + 600
        let first = table.admit(id(1), from: client, madeAt: madeAt, now: now)
        // Just before the memory turns over, and at the last moment at which the event is fresh.
        let filler = table.admit(id(2), from: client, madeAt: madeAt, now: now + .milliseconds(1_199_999))
        let again = table.admit(id(1), from: client, madeAt: madeAt, now: now + .minutes(20))
        let stale = table.admit(id(1), from: client, madeAt: madeAt, now: now + .seconds(1_201))
        #expect([first, filler, again, stale] == [.admitted, .admitted, .repeated, .stale])
    }

    @Test func refusedRequestMayBeResent() {
        var limits = SessionLimits()
        limits.strangersRequests = RateTable(burst: 1, perSecond: 1, capacity: 10)
        var table = SessionTable(sessions: [], limits: limits, now: now)
        let answers = [(1, 0), (2, 0), (2, 1), (2, 1)].map { number, seconds in
            table.admit(id(number), from: client, madeAt: now.seconds, now: now + .seconds(seconds))
        }
        #expect(answers == [.admitted, .limited, .admitted, .repeated])
    }

    @Test func memoryForStrangersIsBounded() {
        var limits = SessionLimits()
        limits.strangersRequests = RateTable(burst: 6, perSecond: 0.1, capacity: 10)
        limits.allStrangersRequests = TokenBucket(capacity: 1_000_000, perSecond: 1_000, now: now)
        var table = SessionTable(sessions: [], limits: limits, now: now)
        var admitted = 0
        for number in 0..<1_000 as Range<UInt64> {
            let key = PublicKey(Bytes32(words: (number, 7, 0, 0)))
            let admission = table.admit(id(number), from: key, madeAt: now.seconds, now: now)
            if admission == .admitted { admitted += 1 }
        }
        #expect(admitted == 1_000)
        #expect(table.strangerCount <= 10)
    }

    @Test func refusalsAreLoggedOnceAMinute() {
        var count = RejectCount()
        let refusals: [(String, Timestamp)] = [
            ("stale", 0), ("stale", 1), ("limited", 59_999), ("stale", 60_000), ("stale", 60_001),
        ]
        let told = refusals.map { count.add($0, now: $1) }
        #expect(told == [["stale": 1], nil, nil, ["stale": 2, "limited": 1], nil])
    }
}
