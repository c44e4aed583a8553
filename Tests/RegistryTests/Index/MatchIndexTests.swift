import Core
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct MatchIndexTests {
    @Test func newIndexIsEmpty() {
        let index = MatchIndex()
        #expect(devices(index, 1) == [])
        #expect(index.accountCount == 0)
        #expect(index.key(of: AccountNumber(rawValue: 0)) == nil)
    }

    @Test func keepsSeveralDevicesOfAnAccount() {
        var index = MatchIndex()
        index.apply(put(1, device: 10))
        index.apply(put(2, device: 20))
        index.apply(put(1, device: 11))
        #expect(devices(index, 1) == [10, 11])
        #expect(devices(index, 2) == [20])
        #expect(index.accountCount == 2)
        #expect(index.deviceCount == 3)
    }

    @Test func knownDeviceIsReplaced() throws {
        var index = MatchIndex()
        index.apply(put(1, device: 10))
        index.apply(put(1, device: 10, firstRegisteredAt: 7, mode: .alert))
        #expect(index.deviceCount == 1)
        let found = index.account(of: key(1))
        let account = try #require(found)
        index.forEachDevice(of: account) {
            #expect($0.firstRegisteredAt == 7)
            #expect($0.mode == .alert)
            #expect(index.route($0.route) == Route(platform: "ios", app: "default"))
        }
    }

    @Test(arguments: Mode.allCases + [nil])
    func modesAreKeptNextToSealingKeys(mode: Mode?) {
        for hasSealingKey in [false, true] {
            let entry = DeviceEntry(
                device: DeviceID(rawValue: 1),
                firstRegisteredAt: 0,
                signals: [],
                route: RouteID(rawValue: 1),
                mode: mode,
                hasSealingKey: hasSealingKey
            )
            #expect(entry.mode == mode)
            #expect(entry.hasSealingKey == hasSealingKey)
        }
    }

    @Test func forgetsAnAccountWithItsLastDevice() {
        var index = MatchIndex()
        for account in 1...5 as ClosedRange<UInt8> { index.apply(put(account, device: Int64(account))) }
        index.apply(put(2, device: 22))
        index.apply(.remove(DeviceID(rawValue: 2), of: key(2)))
        #expect(devices(index, 2) == [22])
        index.apply(.remove(DeviceID(rawValue: 22), of: key(2)))
        index.apply(.remove(DeviceID(rawValue: 22), of: key(2)))
        index.apply(.remove(DeviceID(rawValue: 9), of: key(1)))
        #expect(index.account(of: key(2)) == nil)
        #expect(index.accountCount == 4)
        for account in [1, 3, 4, 5] as [UInt8] { #expect(devices(index, account) == [Int64(account)]) }
    }

    @Test func agreesWithADictionaryThroughManyChanges() {
        var generator = Lehmer(state: 9)
        var index = MatchIndex(signals: SignalNames(), capacity: 4, using: &generator)
        var judge: [UInt8: Set<Int64>] = [:]
        for _ in 0..<20_000 {
            let account = UInt8.random(in: 0..<60, using: &generator)
            let device = Int64(account) * 10 + Int64.random(in: 0..<4, using: &generator)
            if Bool.random(using: &generator) {
                index.apply(put(account, device: device))
                judge[account, default: []].insert(device)
            } else {
                index.apply(.remove(DeviceID(rawValue: device), of: key(account)))
                judge[account]?.remove(device)
            }
        }
        for account in 0..<60 as Range<UInt8> {
            #expect(devices(index, account) == judge[account, default: []].sorted())
        }
        #expect(index.accountCount == judge.values.count { !$0.isEmpty })
        #expect(index.deviceCount == judge.values.reduce(0) { $0 + $1.count })
    }

    @Test func onlyRaisedSignalsGetBits() throws {
        var index = MatchIndex(signals: SignalNames(further: [Signal(rawValue: "wallet")]))
        index.apply(put(1, device: 1, further: ["wallet", "nobody-raises-this"]))
        let found = index.account(of: key(1))
        let account = try #require(found)
        let names = index.signals
        index.forEachDevice(of: account) {
            #expect($0.signals == [names[.dm], names[Signal(rawValue: "wallet")]])
        }
        #expect(names[Signal(rawValue: "nobody-raises-this")].isEmpty)
    }

    @Test func entriesFitTheirSize() {
        #expect(MemoryLayout<DeviceEntry>.size == 28)
    }

    @Test func wellKnownSignalsKeepTheBitsTheyHaveOnDisk() {
        let names = SignalNames(further: (0..<100).map { Signal(rawValue: "s\($0)") } + [.dm])
        let bits = ["dm", "mention", "reply", "reaction", "repost", "follow", "zap"].map { names[Signal(rawValue: $0)] }
        #expect(bits.map(\.rawValue) == [1, 2, 4, 8, 16, 32, 64])
        #expect(names[Signal(rawValue: "s56")].rawValue == 1 << 63)
        #expect(names[Signal(rawValue: "s57")].isEmpty)
    }

    private func key(_ account: UInt8) -> PublicKey { PublicKey(Bytes32(repeating: account)) }

    private func put(
        _ account: UInt8,
        device: Int64,
        firstRegisteredAt: Timestamp = 0,
        mode: Mode? = nil,
        further: [String] = []
    ) -> IndexChange {
        .put(
            IndexedDevice(
                account: key(account),
                device: DeviceID(rawValue: device),
                firstRegisteredAt: firstRegisteredAt,
                signals: SignalNames()[.dm],
                furtherSignals: further.map { Signal(rawValue: $0) },
                mode: mode,
                route: Route(platform: "ios", app: "default"),
                routeID: RouteID(rawValue: 1)
            )
        )
    }

    private func devices(_ index: borrowing MatchIndex, _ account: UInt8) -> [Int64] {
        var devices: [Int64] = []
        if let number = index.account(of: key(account)) {
            index.forEachDevice(of: number) { devices.append($0.device.rawValue) }
        }
        return devices.sorted()
    }
}
