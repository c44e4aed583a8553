import Core
import Foundation
import GRDB
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct WatchedAccountTests {
    @Test func registeringAgainKeepsTheFirstRegistrationTime() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        var index = try bench.registry.load()
        bench.clock.advance(by: .days(1))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 86_400))
        bench.registry.update(&index)
        #expect(try bench.registry.watchedAccount(bench.key(1))?.registeredAt == Bench.start)
        let device = DeviceID(rawValue: 1)
        #expect(try bench.registry.address(of: device)?.registeredAt == Bench.time(86_400))
        try bench.reopen()
        let loaded = try bench.registry.load()
        for beginning in try [beginning(of: 1, in: index, bench), beginning(of: 1, in: loaded, bench)] {
            #expect(beginning == Bench.time())
        }
        // An account that leaves and comes back starts over.
        _ = try bench.registry.apply(bench.event(of: 1, "", at: 86_401))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("two"), at: 86_402))
        #expect(try bench.registry.watchedAccount(bench.key(1))?.registeredAt == Bench.start + 86_400)
    }

    private func beginning(of account: UInt8, in index: borrowing MatchIndex, _ bench: Bench) throws -> Timestamp? {
        var beginning: Timestamp?
        if let number = index.account(of: try bench.key(account)) {
            index.forEachDevice(of: number) { beginning = $0.firstRegisteredAt }
        }
        return beginning
    }

    @Test func watchCombinesAllDevicesAndLists() throws {
        let bench = try Bench()
        let first = #","relays":["wss://a.example","wss://b.example"],"partners":["\#(try bench.key(5).hex)"]"#
        let second = #","relays":["wss://b.example","wss://c.example"],"partners":["\#(try bench.key(6).hex)"]"#
        bench.clock.advance(by: .minutes(1))
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("one", further: second), at: 30),
            bench.event(of: 1, Samples.phone("two", further: first), at: 10, device: "tablet"),
            bench.event(of: 2, Samples.phone("three")),
        ])
        let reading = [
            ["r", "wss://read.example", "read"], ["r", "wss://both.example"], ["r", "wss://w.example", "write"],
        ]
        _ = try bench.registry.learn([
            bench.event(of: 1, content: "", kind: .relayList, tags: reading),
            bench.deviceList(of: 1, messageKeys: [1, 21], relays: ["wss://dm.example"]),
        ])
        try bench.reopen()
        let account = try #require(try bench.registry.watchedAccount(bench.key(1)))
        #expect(account.registeredAt == Bench.start + 10)
        #expect(account.relays == ["wss://b.example", "wss://c.example", "wss://a.example"])
        #expect(account.readRelays == ["wss://read.example", "wss://both.example"])
        #expect(account.messageRelays == ["wss://dm.example"])
        #expect(try account.messageKeys == [bench.key(21)])
        #expect(try account.partners == [bench.key(5), bench.key(6)])
        #expect(account.isPartnered)
        let partners = try bench.registry.partners(of: bench.key(1))
        #expect(try partners == [DeviceID(rawValue: 1): [bench.key(6)], DeviceID(rawValue: 2): [bench.key(5)]])
        #expect(try bench.registry.partners(of: bench.key(2)).isEmpty)
        #expect(try bench.registry.watchedAccount(bench.key(3)) == nil)
        #expect(try bench.registry.watchedAccount(bench.key(2))?.isPartnered == false)
        var all: [PublicKey: WatchedAccount] = [:]
        try bench.registry.forEachWatchedAccount {
            #expect(all[$0.key] == nil)
            all[$0.key] = $0
        }
        #expect(try all[bench.key(1)] == account)
        #expect(all.count == 2)
    }

    @Test func anAccountWithoutPartnersOnOneDeviceIsNotPartnered() throws {
        let bench = try Bench()
        let partners = #","partners":["\#(try bench.key(5).hex)"]"#
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("one", further: partners)),
            bench.event(of: 1, Samples.phone("b"), device: "b"),
        ])
        #expect(try bench.registry.watchedAccount(bench.key(1))?.isPartnered == false)
        _ = try bench.registry.apply(bench.event(of: 1, "", at: 1, device: "b"))
        #expect(try bench.registry.watchedAccount(bench.key(1))?.isPartnered == true)
    }

    @Test func watchPreferencesFollowTheirDevice() throws {
        let bench = try Bench()
        let further = #","relays":["wss://a.example"],"partners":["\#(try bench.key(5).hex)"]"#
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one", further: further)))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 1))
        #expect(try bench.registry.watchedAccount(bench.key(1))?.relays == [])
        #expect(try bench.registry.rootsOfInterest() == [])
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one", further: further), at: 2))
        try bench.registry.removeGone(DeviceID(rawValue: 1), registeredAt: .distantFuture)
        #expect(try bench.registry.watchedAccount(bench.key(1)) == nil)
        #expect(try bench.registry.rootsOfInterest() == [])
    }

    @Test func changedAccountsAreReported() throws {
        let bench = try Bench()
        let further = #","partners":["\#(try bench.key(5).hex)"]"#
        let registration = try bench.event(of: 1, Samples.phone("one", further: further))
        _ = try bench.registry.apply(registration)
        #expect(try bench.reports.take() == [[bench.key(1), bench.key(5)]])
        _ = try bench.registry.apply(registration)
        #expect(bench.reports.take().isEmpty)
        let list = try bench.deviceList(of: 1, devices: [11])
        _ = try bench.registry.learn(list)
        _ = try bench.registry.learn(list)
        #expect(try bench.reports.take() == [[bench.key(1)]])
        _ = try bench.registry.apply(bench.event(ofDevice: 12, for: 2, Samples.phone("two")))
        #expect(try bench.reports.take() == [[bench.key(2)]], "a root of interest")
        _ = try bench.registry.apply(bench.event(ofDevice: 12, for: 2, "", at: 1))
        #expect(try bench.reports.take() == [[bench.key(2)]])
        try bench.registry.removeGone(DeviceID(rawValue: 1), registeredAt: .distantFuture)
        #expect(try bench.reports.take() == [[bench.key(1), bench.key(5)]])
        _ = try bench.registry.learn(bench.deviceList(of: 3))
        #expect(bench.reports.take().isEmpty)
    }
}
