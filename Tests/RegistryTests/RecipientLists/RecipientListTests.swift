import Core
import Nostr
import Testing

@testable import Registry

struct RecipientListTests {
    private let bench: Bench

    /// Accounts 1 and 2 have a device.
    init() throws {
        bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("two")))
    }

    private func learn(_ lists: Event...) throws { try bench.registry.learnRecipientLists(from: lists) }

    private func list(
        of account: UInt8,
        _ word: String,
        _ kind: Kind = .muteList,
        at seconds: Int64 = 0,
        id: UInt8 = 0x80
    ) throws -> Event {
        try bench.event(of: account, content: "", at: seconds, id: id, kind: kind, tags: [["word", word]])
    }

    private func known(_ account: UInt8, _ kind: Kind = .muteList) throws -> [UInt8]? {
        try bench.registry.recipientList(kind, of: bench.key(account))?.json
    }

    @Test func newestListOfEachKindSurvivesARestart() throws {
        #expect(try known(1) == nil)
        let (older, newer, other) = try (list(of: 1, "a"), list(of: 1, "b", at: 1), list(of: 1, "c", .profile))
        try learn(newer, other)
        try learn(older)
        try learn(list(of: 1, "d", at: 1, id: 0x81))
        #expect(try known(1) == newer.json && known(1, .profile) == other.json && known(2) == nil)
        try bench.reopen()
        #expect(try known(1) == newer.json && known(1, .profile) == other.json)
        let lower = try list(of: 1, "e", at: 1, id: 0x7f)
        try learn(lower)
        #expect(try known(1) == lower.json, "of two of one second that with the lower id")
    }

    @Test func listOfAnAccountWithoutDevicesIsNotKept() throws {
        try learn(list(of: 3, "a"))
        #expect(try known(3) == nil)
        try learn(list(of: 1, "a"))
        let device = try #require(try bench.registry.devices(of: bench.key(1)).first?.device)
        try bench.registry.removeGone(device, registeredAt: .distantFuture)
        #expect(try known(1) == nil)
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 1))
        #expect(try known(1) == nil)
    }

    @Test func futureAndOutdatedListsAreNotWanted() throws {
        let registry = bench.registry
        func wants(at seconds: Int64) throws -> Bool {
            try registry.wantsRecipientList(.muteList, of: bench.key(1), SlotMark(list(of: 1, "x", at: seconds)))
        }
        #expect(try wants(at: 600) && !wants(at: 601))
        try learn(list(of: 1, "a", at: 5))
        #expect(try !wants(at: 4) && !wants(at: 5) && wants(at: 6))
        try learn(list(of: 1, "b", at: 601))
        #expect(try known(1) == list(of: 1, "a", at: 5).json)
    }

    @Test func otherKindsAreForgotten() throws {
        try learn(list(of: 1, "a"), list(of: 1, "b", .profile), list(of: 2, "c", .profile))
        try bench.registry.forgetRecipientLists(but: [.muteList])
        #expect(try known(1) != nil && known(1, .profile) == nil && known(2, .profile) == nil)
    }

    @Test func aListThatIsTooLongIsNotKept() throws {
        try learn(list(of: 1, String(repeating: "x", count: RecipientList.byteLimit)))
        #expect(try known(1) == nil)
    }

    @Test func namedKeysAreUniqueAndOrdered() throws {
        let tags = try [
            ["p", bench.key(7).hex], ["p", "zz"], ["e", bench.key(8).hex], ["p"], ["p", bench.key(7).hex],
        ]
        let event = try bench.event(of: 1, content: "", kind: .contactList, tags: tags + [["p", bench.key(9).hex]])
        try learn(event)
        let list = try bench.registry.recipientList(.contactList, of: bench.key(1))
        #expect(try list?.namedKeys == [bench.key(7), bench.key(9)])
    }
}
