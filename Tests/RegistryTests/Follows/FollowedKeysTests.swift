import Core
import GRDB
import Nostr
import Testing

@testable import Registry

struct FollowedKeysTests {
    private let bench: Bench

    /// Accounts 1 and 2 have a device.
    init() throws {
        bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("two")))
    }

    private func learn(_ lists: Event...) throws { try bench.registry.learnFollowed(from: lists) }

    private func list(of account: UInt8, _ named: [UInt8], at seconds: Int64 = 0, id: UInt8 = 0x80) throws -> Event {
        let tags = try named.map { ["p", try bench.key($0).hex, "wss://a.example", "pet name"] }
        return try bench.event(of: account, content: "", at: seconds, id: id, kind: .contactList, tags: tags)
    }

    private func isFollowed(_ author: UInt8, by account: UInt8) throws -> Bool? {
        try bench.registry.isFollowed(bench.key(author), by: bench.key(account))
    }

    @Test func newestListCountsEvenAfterARestart() throws {
        #expect(try isFollowed(7, by: 1) == nil)
        try learn(list(of: 1, [7, 8], at: 1), list(of: 2, []))
        func expectNew() throws {
            #expect(try isFollowed(7, by: 1) == true)
            #expect(try isFollowed(9, by: 1) == false)
            #expect(try isFollowed(7, by: 2) == false)
        }
        try expectNew()
        try learn(list(of: 1, [9]))
        try expectNew()
        try bench.reopen()
        try expectNew()
        try learn(list(of: 1, [9], at: 2), list(of: 1, [7], at: 2, id: 0x81))
        #expect(try isFollowed(9, by: 1) == true, "of two of one second that with the lower id")
        #expect(try isFollowed(7, by: 1) == false)
    }

    @Test func followListOfAnAccountWithoutDevicesIsNotKept() throws {
        try learn(list(of: 3, [7]))
        #expect(try isFollowed(7, by: 3) == nil)
        try learn(list(of: 1, [7]))
        #expect(try isFollowed(7, by: 1) == true)
        let device = try #require(try bench.registry.devices(of: bench.key(1)).first?.device)
        try bench.registry.removeGone(device, registeredAt: .distantFuture)
        #expect(try isFollowed(7, by: 1) == nil)
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 1))
        #expect(try isFollowed(7, by: 1) == nil)
        #expect(try bench.registry.wantsContactList(of: bench.key(1), SlotMark(list(of: 1, [7]))))
    }

    @Test func futureAndOutdatedListsAreNotWanted() throws {
        let registry = bench.registry
        #expect(try registry.wantsContactList(of: bench.key(1), SlotMark(list(of: 1, [], at: 600))))
        #expect(try !registry.wantsContactList(of: bench.key(1), SlotMark(list(of: 1, [], at: 601))))
        try learn(list(of: 1, [7], at: 601))
        #expect(try isFollowed(7, by: 1) == nil)
        try learn(list(of: 1, [7], at: 5))
        #expect(try !registry.wantsContactList(of: bench.key(1), SlotMark(list(of: 1, [7], at: 5))))
        #expect(try !registry.wantsContactList(of: bench.key(1), SlotMark(list(of: 1, [7], at: 4))))
        #expect(try registry.wantsContactList(of: bench.key(1), SlotMark(list(of: 1, [7], at: 6))))
    }

    @Test func allAreForgottenTogether() throws {
        try learn(list(of: 1, [7]), list(of: 2, [7]))
        #expect(try isFollowed(7, by: 2) == true)
        try bench.registry.forgetFollowed()
        #expect(try isFollowed(7, by: 1) == nil)
        #expect(try isFollowed(7, by: 2) == nil)
    }

    @Test func longListIsCutAndInvalidKeysAreOmitted() throws {
        let key = try bench.key(1)
        var tags = (0..<10_001).map { ["p", String(repeating: "0", count: 56) + String(10_000_000 + $0)] }
        tags.insert(contentsOf: [["p"], ["p", "x"], ["e", try bench.key(7).hex], tags[0]], at: 0)
        try learn(bench.event(of: 1, content: "", kind: .contactList, tags: tags))
        let registry = bench.registry
        let named = try tags.compactMap { PublicKey(hex: $0.last ?? "") }.filter {
            try registry.isFollowed($0, by: key) == true
        }
        #expect(named.count == 10_001, "one is named twice")
        #expect(try isFollowed(7, by: 1) == false)
        let bytes = try DatabaseQueue(path: bench.path).read {
            try Int.fetchOne($0, sql: "SELECT length(hashes) FROM followed")
        }
        #expect(bytes == 80_000)
    }

    @Test func hashMatchesTheOneOnDisk() {
        let hash = KeyHash(seed: (1...40).map { UInt8($0) })
        #expect(hash(Bytes32(repeating: 0x5A)) == 16_327_032_598_725_349_443)
    }

    @Test func cacheIsBoundedByItsContents() throws {
        let hash = KeyHash(seed: Array(repeating: 7, count: 40))
        let followed = FollowedKeys(try list(of: 1, [7, 8, 9, 10]), hash: hash)
        var cache = ReadCache<PublicKey, FollowedKeys?>(capacity: 400) { 16 + ($0?.count ?? 0) }
        let first = PublicKey(Bytes32(words: (0, 0, 0, 0)))
        for number in 0..<1000 as Range<UInt64> {
            cache.remember(
                number % 2 == 0 ? followed : nil,
                of: PublicKey(Bytes32(words: (number, 0, 0, 0))),
                readIn: 0
            )
            #expect(cache.value(of: first) == .some(.some(followed)))
            #expect(cache.count <= 2 * (200 / 16 + 1))
        }
        cache.forget([first])
        #expect(cache.value(of: first) == nil)
        cache.remember(followed, of: first, readIn: 0)
        #expect(cache.value(of: first) == nil, "it was read before the change")
    }
}
