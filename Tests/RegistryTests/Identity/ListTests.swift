import Core
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct ListTests {
    @Test func onlyRelevantListsAreLearned() throws {
        let bench = try Bench()
        let partners = #","partners":["\#(try bench.key(5).hex)"]"#
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("one", further: partners)),
            bench.event(ofDevice: 11, for: 2, Samples.phone("two")),
        ])
        for author in [1, 2, 5] as [UInt8] {
            #expect(try bench.registry.concerns(bench.key(author)))
            #expect(try bench.registry.learn(bench.deviceList(of: author)) == .learned)
            #expect(try bench.registry.learn(relayList(bench, of: author)) == .learned)
        }
        for author in [3, 11] as [UInt8] {
            #expect(try !bench.registry.concerns(bench.key(author)))
            #expect(try bench.registry.learn(bench.deviceList(of: author)) == .ignored)
        }
        #expect(try bench.registry.learn(bench.event(of: 1, "", kind: .profile)) == .ignored)
        #expect(try bench.registry.rootsOfInterest() == [bench.key(2), bench.key(5)])
        #expect(try bench.registry.isRootOfInterest(bench.key(5)))
        #expect(try !bench.registry.isRootOfInterest(bench.key(1)))
    }

    @Test func newestListCountsAndLowestIDBreaksATie() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        let lists = try [
            bench.deviceList(of: 1, devices: [11], at: 5, id: 0x80),
            bench.deviceList(of: 1, devices: [12], at: 4),
            bench.deviceList(of: 1, devices: [13], at: 5, id: 0x81),
            bench.deviceList(of: 1, devices: [14], at: 5, id: 0x7F),
            bench.deviceList(of: 1, devices: [14], at: 5, id: 0x7F),
        ]
        #expect(try bench.registry.learn(lists) == [.learned, .outdated, .outdated, .learned, .duplicate])
        #expect(try bench.registry.learn(lists) == [.outdated, .outdated, .outdated, .duplicate, .duplicate])
        for device in [11, 12, 13] as [UInt8] {
            #expect(try !bench.registry.speaks(bench.key(device), for: bench.key(1)))
        }
        #expect(try bench.registry.speaks(bench.key(14), for: bench.key(1)))
        #expect(try bench.registry.speaks(bench.key(1), for: bench.key(1)))
        #expect(try !bench.registry.speaks(bench.key(14), for: bench.key(2)))
    }

    @Test func futureListBlocksNoOther() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        for seconds in [601, 1 << 40, Int64.max - Bench.start] {
            let result = try bench.registry.learn(bench.deviceList(of: 1, devices: [66], at: seconds))
            #expect(result == .refused(.invalid("created_at: expected at most 600 seconds ahead of now")))
        }
        let ancient = try bench.registry.learn(bench.deviceList(of: 1, devices: [66], at: -Bench.start - 1))
        #expect(ancient != .learned)
        #expect(try bench.registry.learn(bench.deviceList(of: 1, devices: [11])) == .learned)
        #expect(try !bench.registry.speaks(bench.key(66), for: bench.key(1)))
    }

    @Test func sizesAreBounded() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        let junk = ["http://relay.example", "wss://", "wss://a b", "", "wss://" + String(repeating: "x", count: 600)]
        let relays = junk + (0..<100).map { "wss://relay-\($0 / 2).example" }
        var list = try bench.deviceList(of: 1, relays: relays)
        for number in 0..<1000 as Range<UInt64> {
            list.tags.append(["device", Bytes32(words: (1, 0, 0, number)).hex])
            list.tags.append(["dm_key", Bytes32(words: (2, 0, 0, number)).hex])
        }
        #expect(try bench.registry.learn(list) == .learned)
        let account = try #require(try bench.registry.watchedAccount(bench.key(1)))
        #expect(account.messageRelays == (0..<ListLimits.relays).map { "wss://relay-\($0).example" })
        #expect(account.messageKeys.count == MessageKeyRing.limit)
        let last = PublicKey(Bytes32(words: (1, 0, 0, UInt64(ListLimits.devices))))
        #expect(try !bench.registry.speaks(last, for: bench.key(1)))
    }

    @Test func irrelevantListsAreForgottenAfterALongTime() throws {
        let bench = try Bench()
        _ = try bench.registry.apply([1, 2].map { try bench.event(of: $0, Samples.phone("token-\($0)")) })
        for root in [1, 2] as [UInt8] { _ = try bench.registry.learn(bench.deviceList(of: root, devices: [11], at: 1)) }
        _ = try bench.registry.apply(bench.event(of: 2, "", at: 1))
        bench.clock.advance(by: .days(89))
        _ = try bench.registry.load()
        #expect(try bench.registry.speaks(bench.key(11), for: bench.key(2)))
        bench.clock.advance(by: .days(2))
        _ = try bench.registry.load()
        #expect(try !bench.registry.speaks(bench.key(11), for: bench.key(2)))
        #expect(try bench.registry.speaks(bench.key(11), for: bench.key(1)))
    }

    @Test func accountsOwnEventsAreRecognized() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        _ = try bench.registry.learn(bench.deviceList(of: 1, devices: [11], messageKeys: [21]))
        let index = try bench.registry.load()
        func isOwn(by author: UInt8, for root: UInt8? = nil) throws -> Bool {
            let root = try root.map { try bench.key($0) }
            return try bench.registry.isOwn(bench.key(author), speakingFor: root, of: bench.key(1), in: index)
        }
        #expect(try isOwn(by: 1))
        #expect(try isOwn(by: 21))
        #expect(try isOwn(by: 11, for: 1))
        #expect(try !isOwn(by: 11), "the event does not say so")
        #expect(try !isOwn(by: 66, for: 1), "the root does not say so")
        #expect(try !isOwn(by: 11, for: 2))
        #expect(try !isOwn(by: 22))
    }

    private func relayList(_ bench: Bench, of author: UInt8) throws -> Event {
        try bench.event(of: author, content: "", kind: .relayList, tags: [["r", "wss://relay.example"]])
    }
}
