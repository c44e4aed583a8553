import Testing

@testable import Nostr

@Suite struct RetentionTests {
    @Test(
        arguments: [
            (0, .replaceable), (1, .regular), (2, .regular), (3, .replaceable), (4, .regular), (44, .regular),
            (1000, .regular),
            (9999, .regular), (10_000, .replaceable), (10_062, .replaceable), (19_999, .replaceable),
            (20_000, .ephemeral),
            (29_999, .ephemeral), (30_000, .addressable), (39_999, .addressable), (40_000, .regular),
            (65_535, .regular),
        ] as [(UInt16, Retention)]
    )
    func kindsAreKeptByRange(_ kind: UInt16, _ retention: Retention) {
        #expect(Kind(kind).retention == retention)
    }

    @Test func theNewerVersionWinsAndTheLowerIDATie() {
        let event = Event.sample(createdAt: 10)
        var other = Event.sample(createdAt: 11)
        #expect(other.supersedes(event))
        #expect(!event.supersedes(other))
        other.createdAt = 10
        other.id = .second
        #expect(event.supersedes(other))
        #expect(!other.supersedes(event))
        #expect(!event.supersedes(event))
    }
}
