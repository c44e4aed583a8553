import Core
import Nostr
import Testing
import TimeTestSupport

@testable import Registry

/// Accounts 1 to 4 are registered at the start of the bench; authors and times of lists are free.
struct FollowTableTests {
    @Test func onlyTheDifferenceIsAFollow() throws {
        let bench = try registered()
        #expect(try follows(bench, [1, 2], at: 10) == [1, 2])
        #expect(try follows(bench, [1, 2], at: 11) == [])
        #expect(try follows(bench, [1, 2, 3], at: 12) == [3])
        try bench.reopen()
        #expect(try follows(bench, [3, 2, 1], at: 13) == [])
        #expect(try follows(bench, [1, 4, 4], at: 13) == [4])
    }

    @Test func aListOlderThanTheNewestChangesNothing() throws {
        let bench = try registered()
        #expect(try follows(bench, [], at: 10) == [])
        #expect(try follows(bench, [1], at: 9) == [])
        #expect(try follows(bench, [1], at: 11) == [1])
        #expect(try follows(bench, [2], at: 5) == [])
        #expect(try follows(bench, [1], at: 12) == [], "the old list took nobody off")
    }

    @Test func takingSomebodyOffTheListAndOnAgainIsAFollow() throws {
        let bench = try registered()
        #expect(try follows(bench, [1, 2], at: 10) == [1, 2])
        #expect(try follows(bench, [2], at: 11) == [])
        #expect(try follows(bench, [1, 2], at: 12) == [1])
    }

    @Test func authorsDoNotMeet() throws {
        let bench = try registered()
        #expect(try follows(bench, [1], at: 10) == [1])
        #expect(try follows(bench, [2], at: 5, by: 0xBB) == [2])
        #expect(try follows(bench, [1, 2], at: 11) == [2])
        #expect(try follows(bench, [1, 2], at: 6, by: 0xBB) == [1])
    }

    @Test func askingRemembersNothing() throws {
        let bench = try registered()
        let list = try list(bench, [1], at: 10)
        #expect(try bench.registry.newFollows(list) == list.named)
        #expect(try bench.registry.newFollows(list) == list.named)
    }

    @Test func whatIsReadAsABaselineIsOnlyRemembered() throws {
        let bench = try registered()
        #expect(try follows(bench, [1], at: 10, seen: .baseline) == [])
        #expect(try follows(bench, [1, 2], at: 11, seen: .relay) == [2])
    }

    @Test func anUnknownAuthorsListFromARelayIsNewsOnceTheAccountsFollowersWereRead() throws {
        let bench = try registered()
        #expect(try follows(bench, [1], at: 10, by: 0xB0, seen: .relay) == [])
        try bench.registry.markFollowsRead([bench.account(1).publicKey])
        #expect(try follows(bench, [1, 2], at: 10, by: 0xB1, seen: .relay) == [1])
        #expect(try follows(bench, [1], at: -10, by: 0xB2, seen: .relay) == [], "made before the account registered")
        #expect(try follows(bench, [1], at: -10, by: 0xB3, seen: .direct) == [])
        try bench.reopen()
        #expect(try follows(bench, [1], at: 12, by: 0xB4, seen: .relay) == [1])
    }

    @Test func aListSeenBeforeAnAccountCameSaysNothingOfIt() throws {
        let bench = try registered()
        #expect(try follows(bench, [1], at: 10) == [1])
        bench.clock.advance(by: .minutes(1))
        _ = try bench.registry.apply(bench.event(of: 9, Samples.phone("nine"), at: 60))
        // The author may have followed nine for years.
        #expect(try follows(bench, [1, 9], at: 70, seen: .relay) == [])
        _ = try bench.registry.apply(bench.event(of: 8, Samples.phone("eight"), at: 60))
        try bench.registry.markFollowsRead([bench.account(8).publicKey])
        #expect(try follows(bench, [1, 9, 8], at: 71, seen: .relay) == [8])
    }

    @Test func anAccountThatWasAwayHasItsFollowersReadAnew() throws {
        let bench = try registered()
        try bench.registry.markFollowsRead([bench.account(1).publicKey, bench.account(7).publicKey])
        _ = try bench.registry.apply(bench.event(of: 1, "", at: 1))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("back"), at: 2))
        #expect(try follows(bench, [1], at: 10, seen: .relay) == [])
        _ = try bench.registry.apply(bench.event(of: 7, Samples.phone("seven"), at: 2))
        #expect(try follows(bench, [7], at: 10, by: 0xBB, seen: .relay) == [], "seven had no device then")
    }

    private func registered() throws -> Bench {
        let bench = try Bench()
        _ = try bench.registry.apply((1...4).map { try bench.event(of: $0, Samples.phone("token-\($0)")) })
        return bench
    }

    private func list(
        _ bench: Bench,
        _ named: [UInt8],
        at seconds: Int64,
        by author: UInt8 = 0xAA
    ) throws -> ContactList {
        ContactList(
            author: PublicKey(Bytes32(repeating: author)),
            named: try named.map { try bench.account($0).publicKey },
            createdAt: Bench.start + seconds
        )
    }

    /// Returns the new follows and stores them, as the pipeline does.
    private func follows(
        _ bench: Bench,
        _ named: [UInt8],
        at seconds: Int64,
        by author: UInt8 = 0xAA,
        seen: ContactListSource = .direct
    ) throws -> [UInt8] {
        let list = try list(bench, named, at: seconds, by: author)
        let new = try bench.registry.newFollows(list, seen: seen)
        try bench.registry.remember([list])
        return try named.filter { new.contains(try bench.account($0).publicKey) }
            .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}
