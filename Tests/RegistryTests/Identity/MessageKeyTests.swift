import Core
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// Gift wraps to a key that an account receives messages under. Account 1 has the keys 21 and 22; account 2 is a
/// stranger.
struct MessageKeyTests {
    private static let day: Int64 = 86_400

    @Test func giftWrapsToAMessageKeyReachTheAccount() throws {
        let bench = try registered()
        var index = try bench.registry.load()
        #expect(try bench.accounts(reachedBy: 21, in: index) == [])
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [21]))
        bench.registry.update(&index)
        #expect(try bench.accounts(reachedBy: 21, in: index) == [bench.key(1)])
        try bench.reopen()
        let loaded = try bench.registry.load()
        #expect(try bench.accounts(reachedBy: 21, in: loaded) == [bench.key(1)])
        let hit = try #require(try hits([21, 1], in: loaded).first)
        #expect(hit.tie == .messageKey)
        #expect(hit.counts(for: .giftWrap) && hit.counts(for: .ephemeralGiftWrap))
        #expect(!hit.counts(for: .textNote) && !hit.counts(for: .remoteSigning))
        let own = try #require(try hits([21, 1], in: loaded).last)
        #expect(own.tie == .account && own.position == 1 && own.counts(for: .textNote))
        #expect(loaded.accountCount == 2)
        let account = loaded.account(of: try bench.key(21))
        #expect(account == nil, "a key for messages is no account")
    }

    @Test func aFormerKeyCountsForSevenDays() throws {
        let bench = try registered()
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [21]))
        bench.clock.advance(by: .days(90))
        let replaced = 90 * Self.day
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [22], at: replaced))
        var index = try bench.registry.load()
        _ = bench.reports.take()
        for key in [21, 22] as [UInt8] {
            #expect(try bench.accounts(reachedBy: key, in: index) == [bench.key(1)])
        }
        #expect(try bench.registry.watchedAccount(bench.key(1))?.messageKeys.count == 2)
        bench.clock.advance(by: .days(7) - .milliseconds(1))
        bench.registry.update(&index)
        #expect(try bench.accounts(reachedBy: 21, in: index) == [bench.key(1)])
        bench.clock.advance(by: .milliseconds(1))
        bench.registry.update(&index)
        #expect(try bench.accounts(reachedBy: 21, in: index) == [])
        #expect(try bench.accounts(reachedBy: 22, in: index) == [bench.key(1)])
        #expect(try bench.reports.take() == [[bench.key(1)]])
        #expect(try bench.registry.watchedAccount(bench.key(1))?.messageKeys == [bench.key(22)])
        let loaded = try bench.registry.load()
        #expect(try bench.accounts(reachedBy: 21, in: loaded) == [])
        bench.registry.update(&index)
        #expect(bench.reports.take().isEmpty)
    }

    @Test func keyReplacedLongAgoStopsCounting() throws {
        let bench = try registered()
        bench.clock.advance(by: .days(30))
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [21]))
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [22], at: Self.day))
        let index = try bench.registry.load()
        #expect(try bench.accounts(reachedBy: 21, in: index) == [])
        #expect(try bench.accounts(reachedBy: 22, in: index) == [bench.key(1)])
    }

    @Test func restoredKeyKeepsCounting() throws {
        let bench = try registered()
        for (at, key) in [21, 22, 21].enumerated() {
            _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [UInt8(key)], at: Int64(at)))
        }
        var index = try bench.registry.load()
        bench.clock.advance(by: .days(8))
        bench.registry.update(&index)
        #expect(try bench.accounts(reachedBy: 21, in: index) == [bench.key(1)])
        #expect(try bench.accounts(reachedBy: 22, in: index) == [])
    }

    @Test func accountCannotTakeAnothersMessageKey() throws {
        let bench = try registered()
        _ = try bench.registry.learn(bench.deviceList(of: 2, messageKeys: [21, 1]))
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [21]))
        var index = try bench.registry.load()
        #expect(try Set(bench.accounts(reachedBy: 21, in: index)) == [bench.key(1), bench.key(2)])
        #expect(try bench.accounts(reachedBy: 1, in: index) == [bench.key(1)], "an account's own key is nobody else's")
        _ = try bench.registry.learn(bench.deviceList(of: 2, at: 1))
        bench.clock.advance(by: .days(8))
        bench.registry.update(&index)
        #expect(try bench.accounts(reachedBy: 21, in: index) == [bench.key(1)])
    }

    @Test func accountWithoutDevicesMatchesNoEvents() throws {
        let bench = try registered()
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [21]))
        var index = try bench.registry.load()
        _ = try bench.registry.apply(bench.event(of: 1, "", at: 1))
        bench.registry.update(&index)
        #expect(try bench.accounts(reachedBy: 21, in: index) == [])
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("back"), at: 2))
        bench.registry.update(&index)
        #expect(try bench.accounts(reachedBy: 21, in: index) == [bench.key(1)])
    }

    @Test func claimsOfOneKeyAreLimitedAndKeepTheFirst() {
        var owners = MessageKeyOwners()
        let key = MessageKey(key: PublicKey(Bytes32(repeating: 7)))
        for number in 0...UInt64(MessageKeyOwners.ownersPerKey) {
            _ = owners.set([key], of: Bytes32(words: (number, 0, 0, 1)))
        }
        var count = 0
        owners.forEachOwner(of: key.key.bytes) { _ in count += 1 }
        #expect(count == MessageKeyOwners.ownersPerKey)
        #expect(owners.owns(Bytes32(words: (0, 0, 0, 1)), key.key.bytes))
    }

    @Test func lateClaimOfAKeyGainsNoSlotByARestart() throws {
        let bench = try registered()
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [21]))
        let key = MessageKey(key: try bench.key(21))
        try bench.registry.store.write { rows in
            for number in 1..<UInt64(MessageKeyOwners.ownersPerKey) {
                try rows.putMessageKeys([key], of: PublicKey(Bytes32(words: (number, 0, 0, 1))))
            }
        }
        #expect(try bench.registry.learn(bench.deviceList(of: 2, messageKeys: [21, 22])) == .learned)
        #expect(try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [21], at: 1)) == .learned)
        try bench.reopen()
        let index = try bench.registry.load()
        #expect(try bench.accounts(reachedBy: 21, in: index) == [bench.key(1)])
        #expect(try bench.accounts(reachedBy: 22, in: index) == [bench.key(2)])
    }

    @Test func repeatedKeyIsReportedOnce() throws {
        let bench = try registered()
        _ = try bench.registry.learn(bench.deviceList(of: 1, messageKeys: [21]))
        _ = try bench.registry.learn(bench.deviceList(of: 2, messageKeys: [21, 22]))
        let index = try bench.registry.load()
        let hits = try hits(Array(repeating: 21, count: 1000) + [1, 22, 21], in: index)
        #expect(hits.map(\.position) == [0, 0, 1000, 1001])
        #expect(hits.map(\.tie) == [.messageKey, .messageKey, .account, .messageKey])
        #expect(try index.key(of: #require(hits.last).account) == bench.key(2))
    }

    @Test func expiryIsCheckedPeriodically() {
        var owners = MessageKeyOwners()
        let account = Bytes32(repeating: 1)
        let keys = [10, 20].map {
            MessageKey(key: PublicKey(Bytes32(repeating: UInt8($0))), until: Timestamp(milliseconds: $0))
        }
        _ = owners.set(keys, of: account)
        #expect(!owners.isExpiryDue(now: 9))
        #expect(owners.isExpiryDue(now: 10))
        #expect(owners.expire(now: 10).lost == [keys[0].key.bytes])
        #expect(!owners.isExpiryDue(now: 30))
        #expect(owners.isExpiryDue(now: 600_010))
        #expect(owners.expire(now: 600_010).accounts == [account])
        #expect(owners.isEmpty)
        #expect(!owners.isExpiryDue(now: Timestamp(milliseconds: .max - 1)))
    }

    @Test func agreesWithADictionaryThroughManyChanges() throws {
        var generator = Lehmer(state: 3)
        var index = MatchIndex(signals: SignalNames(), capacity: 4, using: &generator)
        var devices: Set<UInt8> = []
        var keys: [UInt8: Set<UInt8>] = [:]
        for _ in 0..<5_000 {
            let account = UInt8.random(in: 0..<20, using: &generator)
            switch UInt8.random(in: 0..<3, using: &generator) {
            case 0:
                index.apply(.put(device(of: account)))
                devices.insert(account)
            case 1:
                index.apply(.remove(DeviceID(rawValue: Int64(account)), of: PublicKey(Bytes32(repeating: account))))
                devices.remove(account)
            default:
                // Some of them are accounts' own keys.
                let new = Set((0..<3).map { _ in UInt8.random(in: 10..<40, using: &generator) })
                let messageKeys = new.map { MessageKey(key: PublicKey(Bytes32(repeating: $0))) }
                index.apply(.messageKeys(messageKeys, of: PublicKey(Bytes32(repeating: account))))
                keys[account] = new
            }
        }
        for key in 0..<40 as Range<UInt8> {
            var hits: [MatchHit] = []
            [Bytes32(repeating: key)].withUnsafeBufferPointer { index.match($0, into: &hits) }
            let found = Set(hits.compactMap { index.key(of: $0.account) })
            let wanted = devices.contains(key) ? [key] : devices.filter { keys[$0]?.contains(key) ?? false }
            #expect(found == Set(wanted.map { PublicKey(Bytes32(repeating: $0)) }))
            #expect(hits.count == found.count)
        }
        #expect(index.accountCount == devices.count)
        var accounts = 0
        index.forEachAccount { _ in accounts += 1 }
        #expect(accounts == devices.count)
    }

    private func registered() throws -> Bench {
        let bench = try Bench()
        _ = try bench.registry.apply([1, 2].map { try bench.event(of: $0, Samples.phone("token-\($0)")) })
        return bench
    }

    private func hits(_ keys: [UInt8], in index: borrowing MatchIndex) throws -> [MatchHit] {
        var hits: [MatchHit] = []
        let bench = try Bench()
        try keys.map { try bench.key($0).bytes }.withUnsafeBufferPointer { index.match($0, into: &hits) }
        return hits
    }

    private func device(of account: UInt8) -> IndexedDevice {
        IndexedDevice(
            account: PublicKey(Bytes32(repeating: account)),
            device: DeviceID(rawValue: Int64(account)),
            firstRegisteredAt: 0,
            signals: [],
            furtherSignals: [],
            mode: nil,
            route: Route(platform: "ios", app: "default"),
            routeID: RouteID(rawValue: 1)
        )
    }
}
