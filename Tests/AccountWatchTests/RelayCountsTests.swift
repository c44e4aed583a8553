import RelayPool
import Testing

@testable import AccountWatch

struct RelayCountsTests {
    @Test func whatManyNameIsCountedAmongCountlessThatOneNames() throws {
        let common = try #require(RelayURL("wss://common.example"))
        var counts = RelayCounts(room: 100)
        for index in 0..<10_000 {
            counts.count(try #require(RelayURL("wss://r\(index).example")))
            if index.isMultiple(of: 10) { counts.count(common) }
        }
        #expect(counts.ranked(limit: 1, perHost: 1, preferring: []) == [common])
        #expect(counts.exceeds(1_000))
    }

    @Test func ofEqualsTheOnesThatAreThereStay() throws {
        let relays = try ["wss://a.example", "wss://b.example", "wss://c.example"].map { try #require(RelayURL($0)) }
        var counts = RelayCounts(room: 10)
        for relay in relays { counts.count(relay) }
        #expect(counts.ranked(limit: 2, perHost: 1, preferring: [relays[2]]) == [relays[2], relays[0]])
        #expect(counts.exceeds(2))
        #expect(!counts.exceeds(3))
    }
}
