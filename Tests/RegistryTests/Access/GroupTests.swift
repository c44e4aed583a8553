import Core
import Nostr
import Testing
import TimeTestSupport

@testable import Registry

/// Groups of an app's users: senders put them in, users leave.
struct GroupTests {
    private let bench: Bench
    private let name: GroupName

    init() throws {
        bench = try Bench()
        name = try #require(GroupName(app: "default", group: "beta"))
        for account in UInt8(1)...3 {
            let event = try bench.event(of: account, Samples.phone("phone-\(account)"), id: 0x80 + account)
            #expect(try bench.registry.apply(event).isAccepted)
        }
    }

    private func change(_ adding: [UInt8], removing: [UInt8] = []) throws -> GroupChange {
        try bench.registry.change(
            name,
            adding: adding.map { try bench.key($0) },
            removing: removing.map { try bench.key($0) }
        )
    }

    private func members() throws -> Set<PublicKey> { Set(try bench.registry.members(of: name)) }

    private func keys(_ accounts: UInt8...) throws -> Set<PublicKey> { Set(try accounts.map { try bench.key($0) }) }

    @Test func accountWithADeviceOfTheAppCanJoinAGroup() throws {
        let change = try change([1, 2, 1, 9])
        #expect(change.added == 2 && change.left.isEmpty && change.full.isEmpty)
        #expect(change.unknown == [try bench.key(9)])
        #expect(try members() == keys(1, 2))
        #expect(try self.change([3], removing: [1, 3]).removed == 1)
        #expect(try members() == keys(2, 3))
        #expect(try bench.registry.groups(of: "default").map(\.members) == [2])
        #expect(try bench.registry.groups(of: "other").isEmpty)
        let other = try #require(GroupName(app: "other", group: "beta"))
        let none = try bench.registry.change(other, adding: [bench.key(1)], removing: [])
        #expect(none.unknown == [try bench.key(1)], "it has no device of that app")
    }

    @Test func accountThatLeftStaysOutUntilItRejoins() throws {
        _ = try change([1, 2])
        #expect(try bench.registry.leave(name, bench.key(1)) && !bench.registry.leave(name, bench.key(1)))
        #expect(try change([1]).left == [bench.key(1)])
        _ = try change([], removing: [1, 2])
        #expect(try change([1]).left == [bench.key(1)], "not even when a sender took them out")
        #expect(try members().isEmpty && bench.registry.groups(of: bench.key(1)).isEmpty)
        #expect(try bench.registry.enter(name, bench.key(1)))
        #expect(try members() == keys(1))
        #expect(try bench.registry.groups(of: bench.key(1)).map(\.name) == [name])
        let none = try #require(GroupName(app: "default", group: "none"))
        #expect(try !bench.registry.enter(none, bench.key(1)))
    }

    @Test func accountWithoutDevicesLeavesItsGroups() throws {
        let tablet = try bench.event(of: 1, Samples.phone("tablet"), device: "tablet", id: 0x90)
        #expect(try bench.registry.apply(tablet).isAccepted)
        _ = try change([1, 2])
        let devices = try bench.registry.devices(of: bench.key(1)).map(\.device)
        #expect(try devices.count == 2 && bench.registry.remove(devices[0]))
        #expect(try members() == keys(1, 2))
        #expect(try bench.registry.remove(devices[1]))
        #expect(try members() == keys(2))
    }

    @Test func groupsPerAccountAreLimited() throws {
        for number in 0..<Registry.maxGroups {
            let group = try #require(GroupName(app: "default", group: "g\(number)"))
            #expect(try bench.registry.change(group, adding: [bench.key(1)], removing: []).added == 1)
        }
        #expect(try change([1, 2]).full == [bench.key(1)])
        #expect(try !bench.registry.enter(name, bench.key(1)))
        #expect(try members() == keys(2))
    }

    @Test(arguments: ["", "a b", "ä", String(repeating: "x", count: 65)])
    func groupNamesAreValidated(text: String) {
        #expect(GroupName(app: "default", group: text) == nil)
    }
}
