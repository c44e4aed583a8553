import Nostr
import Testing

@testable import Registry

struct FollowLedgerTests {
    private let author = PublicKey(Bytes32(repeating: 0xAA))

    @Test func onlyTheDifferenceIsAFollow() throws {
        let bench = try Bench()
        #expect(try follows(bench, [1, 2], at: 10) == keys(1, 2))
        #expect(try follows(bench, [1, 2], at: 11) == [])
        #expect(try follows(bench, [1, 2, 3], at: 12) == keys(3))
        try bench.reopen()
        #expect(try follows(bench, [3, 2, 1], at: 13) == [])
        #expect(try follows(bench, [1, 4, 4], at: 13) == keys(4))
    }

    @Test func aListOlderThanTheNewestChangesNothing() throws {
        let bench = try Bench()
        #expect(try follows(bench, [], at: 10) == [])
        #expect(try follows(bench, [1], at: 9) == [])
        #expect(try follows(bench, [1], at: 11) == keys(1))
    }

    @Test func takingSomebodyOffTheListAndOnAgainWakesNobody() throws {
        let bench = try Bench()
        #expect(try follows(bench, [1, 2], at: 10) == keys(1, 2))
        #expect(try follows(bench, [2], at: 11) == [])
        #expect(try follows(bench, [1, 2], at: 12) == [])
    }

    @Test func authorsDoNotMeet() throws {
        let bench = try Bench()
        let other = PublicKey(Bytes32(repeating: 0xBB))
        try bench.registry.remember([
            ContactList(author: author, named: keys(1), createdAt: 10),
            ContactList(author: other, named: keys(2), createdAt: 5),
        ])
        #expect(try follows(bench, [1, 2], at: 11) == keys(2))
        #expect(try bench.registry.newFollows(ContactList(author: other, named: keys(1, 2), createdAt: 6)) == keys(1))
    }

    @Test func askingRemembersNothing() throws {
        let bench = try Bench()
        let list = ContactList(author: author, named: keys(1), createdAt: 10)
        #expect(try bench.registry.newFollows(list) == keys(1))
        #expect(try bench.registry.newFollows(list) == keys(1))
    }

    private func follows(_ bench: Bench, _ named: [UInt8], at createdAt: Int64) throws -> [PublicKey] {
        let named = named.map { PublicKey(Bytes32(repeating: $0)) }
        let list = ContactList(author: author, named: named, createdAt: createdAt)
        defer { #expect(throws: Never.self) { try bench.registry.remember([list]) } }
        return try bench.registry.newFollows(list)
    }

    private func keys(_ keys: UInt8...) -> [PublicKey] { keys.map { PublicKey(Bytes32(repeating: $0)) } }
}
