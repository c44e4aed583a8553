import Core
import Nostr
import Testing
import TimeTestSupport

@testable import Relays

/// By key, by kind or polled: the choice from a relay's capacity, without a relay.
@Suite struct ChunkPolicyTests {
    private static let start: Timestamp = 1_700_000_000
    private var policy = ChunkPolicy(keysPerFilter: 100, pollInterval: .minutes(2))

    private func keyTable(_ keys: Int, chunkSize: Int = 100) -> KeyTable {
        var keyTable = KeyTable(chunkSize: chunkSize)
        for number in 0..<keys {
            let watched = Watched(key: .sample(number), interest: .addressed, since: 1, isEstablished: false)
            _ = keyTable.insert(KeyEntry(watched))
        }
        return keyTable
    }

    @Test mutating func requestsAreByKeyWhileSubscriptionsFit() {
        #expect(policy.decide(keyTable(400), room: 4) == nil)
        #expect(!policy.isAskedByKind)
    }

    @Test mutating func requestsAreByKindWithTooManyChunks() {
        #expect(policy.decide(keyTable(401), room: 4) == .toKinds)
        #expect(policy.isAskedByKind)
        #expect(policy.decide(keyTable(401), room: 4) == nil)
    }

    @Test mutating func requestsReturnToKeysOnlyWithAMargin() {
        _ = policy.decide(keyTable(401), room: 4)
        #expect(policy.decide(keyTable(301), room: 4) == nil)
        #expect(policy.decide(keyTable(300), room: 4) == .toKeys)
        #expect(!policy.isAskedByKind)
    }

    @Test mutating func requestsAreLimitedIfKindsAreRefused() {
        let many = keyTable(1_000)
        #expect(policy.decide(many, room: 4) == .toKinds)
        policy.refusedByKind()
        #expect(policy.decide(many, room: 4) == .toKeys)
        #expect(policy.decide(many, room: 4) == .moreChunks)
        // The next connection tries again.
        policy.begin()
        #expect(policy.decide(many, room: 4) == .toKinds)
    }

    @Test mutating func pollingIsUsedOnlyIfKindsAreRefused() {
        policy.poll(from: Self.start)
        #expect(policy.nextPoll == nil)
        policy.refusedByKind()
        #expect(policy.nextPoll == Self.start + .minutes(2))
    }

    @Test mutating func pollReadsSinceTheLastPoll() {
        policy.refusedByKind()
        policy.poll(from: Self.start)
        // Another chunk does not delay the others.
        policy.poll(from: Self.start + .minutes(1))
        #expect(policy.takePoll(now: Self.start + .seconds(119)) == nil)
        #expect(policy.takePoll(now: Self.start + .seconds(130)) == Self.start.seconds)
        #expect(policy.nextPoll == Self.start + .seconds(250))
        #expect(policy.takePoll(now: Self.start + .seconds(249)) == nil)
        #expect(policy.takePoll(now: Self.start + .seconds(250)) == Self.start.seconds + 130)
    }

    @Test mutating func chunksAreHalvedDownToFifty() {
        #expect(policy.keys(inMessageOf: .max) == 100)
        #expect(policy.shrink(from: 100) == 50)
        #expect(policy.shrink(from: 50) == nil)
        policy.begin()
        #expect(policy.keys(inMessageOf: .max) == 50)
    }

    @Test mutating func neverMakesChunksLargerThanBefore() {
        var small = ChunkPolicy(keysPerFilter: 40, pollInterval: .minutes(2))
        #expect(small.shrink(from: 40) == nil)
        #expect(small.keys(inMessageOf: .max) == 40)
        #expect(policy.shrink(from: 90) == 50)
        #expect(policy.shrink(from: 99) == 50)
        #expect(policy.keys(inMessageOf: .max) == 50)
    }

    @Test func subscriptionsAreReservedForReadingAndReplacing() {
        var capacity = RelayCapacity(enough: 1 << 30)
        for (said, room) in [(20, 16), (8, 4), (7, 4), (5, 2), (4, 2), (3, 1), (1, 1)] {
            capacity.says(subscriptions: said)
            #expect(ChunkPolicy.room(ofSize: 100, beside: 1, in: capacity) == room, "of \(said)")
        }
        capacity.says(subscriptions: 20)
        capacity.learn(bytes: 100_000)
        let bytes = 75_000 / FilterPlan.length(ofLive: 100)
        #expect(ChunkPolicy.room(ofSize: 100, beside: 0, in: capacity) == bytes)
        #expect(ChunkPolicy.room(ofSize: 1_000, beside: 0, in: capacity) == 1)
    }
}
