import Core
import Nostr
import Push
import Testing

@testable import Registry

struct RegistryIndexTests {
    @Test func changesArriveWhenTheOwnerAsksForThem() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        var index = try bench.registry.load()
        #expect(bench.registry.update(&index) == 0)
        #expect(try bench.devices(of: 1, in: index).count == 1)
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("one-b"), at: 1, device: "b"),
            bench.event(of: 2, Samples.phone("two"), at: 1),
            bench.event(of: 1, "", at: 2),
            bench.event(of: 3, Samples.phone("two"), at: 2),
        ])
        #expect(try bench.devices(of: 2, in: index).isEmpty)
        #expect(bench.registry.update(&index) == 5)
        #expect(try bench.devices(of: 1, in: index) == [DeviceID(rawValue: 2)])
        #expect(try bench.devices(of: 2, in: index).isEmpty)
        #expect(try bench.devices(of: 3, in: index).count == 1)
        try expectSameAsLoaded(index, bench)
    }

    @Test func goneDeviceLeavesTheDiskImmediatelyAndTheIndexOnUpdate() throws {
        let bench = try Bench()
        let event = try bench.event(of: 1, Samples.phone("one"))
        _ = try bench.registry.apply(event)
        var index = try bench.registry.load()
        let device = try #require(try bench.devices(of: 1, in: index).first)
        let registeredAt = try #require(try bench.registry.address(of: device)).registeredAt
        try bench.registry.removeGone(device, registeredAt: registeredAt)
        try bench.registry.removeGone(device, registeredAt: registeredAt)
        #expect(try bench.registry.address(of: device) == nil)
        #expect(bench.registry.update(&index) == 1)
        #expect(index.accountCount == 0)
        #expect(try bench.registry.apply(event) == .ended, "its author has to sign another")
        #expect(try bench.registry.storedEvents(of: event.pubkey) == [])
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 1)).isAccepted)
    }

    @Test func deviceRegisteredAgainIsNotGone() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: -10))
        let device = DeviceID(rawValue: 1)
        let tried = try #require(try bench.registry.address(of: device))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: -5))
        try bench.registry.removeGone(device, registeredAt: tried.registeredAt)
        #expect(try bench.registry.address(of: device)?.registeredAt == tried.registeredAt + .seconds(5))
        try bench.registry.removeGone(DeviceID(rawValue: 99), registeredAt: .distantFuture)
    }

    @Test func concurrentRemovalAndMatchingAreSafe() async throws {
        let bench = try Bench()
        _ = try bench.registry.apply(
            (1...60).map { try bench.event(of: $0, Samples.phone("token-\($0)")) }
        )
        var index = try bench.registry.load()
        let registry = bench.registry
        let courier = Task.detached {
            for device in 1...50 as ClosedRange<Int64> {
                try registry.removeGone(DeviceID(rawValue: device), registeredAt: .distantFuture)
            }
        }
        let keys = try (1...60).map { try bench.account($0).publicKey.bytes }
        var hits: [MatchHit] = []
        for _ in 0..<1000 where index.accountCount > 10 {
            hits.removeAll(keepingCapacity: true)
            keys.withUnsafeBufferPointer { index.match($0, into: &hits) }
            #expect(hits.count == index.accountCount)
            registry.update(&index)
        }
        try await courier.value
        registry.update(&index)
        #expect(index.accountCount == 10)
        try expectSameAsLoaded(index, bench)
    }

    @Test func otherRulesAssignOtherBits() throws {
        let bench = try Bench()
        let filters = #","filters":{"dm":true,"wallet":true,"signer":true}"#
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one", further: filters)))
        let wallet = Signal(rawValue: "wallet")
        let signer = Signal(rawValue: "signer")
        var index = try bench.registry.load(signals: [wallet])
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("two", further: filters)))
        try bench.registry.rename(signals: [Signal(rawValue: "unasked"), signer], in: &index)
        for account in [1, 2] as [UInt8] {
            let found = index.account(of: try bench.account(account).publicKey)
            let number = try #require(found)
            let names = index.signals
            #expect(names[wallet].isEmpty)
            index.forEachDevice(of: number) { #expect($0.signals == [names[.dm], names[signer]]) }
        }
    }

    @Test func devicesGetTheBestAvailableLanguage() throws {
        let bench = try Bench()
        let locales = ["de-AT-1996", "de_ch", "pt", "fr", "?"].map { $0 == "?" ? "" : #","locale":"\#($0)""# }
        for (number, locale) in zip((1 as UInt8)..., locales) {
            _ = try bench.registry.apply(bench.event(of: number, Samples.phone("\(number)", further: locale)))
        }
        let spoken = ["de", "de-AT", "pt-BR"].compactMap { LanguageTag($0) }
        var index = try bench.registry.load(languages: spoken)
        #expect(try (1...5).map { try language(of: $0, in: index, bench) } == ["de-AT", "de", "pt-BR", nil, nil])
        _ = try bench.registry.apply(
            bench.event(of: 4, Samples.phone("4", further: #","locale":"pt-BR""#), at: 1)
        )
        bench.registry.update(&index)
        #expect(try language(of: 4, in: index, bench) == "pt-BR")
        try bench.registry.rename(signals: [], languages: [#require(LanguageTag("pt"))], in: &index)
        #expect(try (1...5).map { try language(of: $0, in: index, bench) } == [nil, nil, "pt", "pt", nil])
        try bench.registry.rename(signals: [], in: &index)
        #expect(try (1...5).compactMap { try language(of: $0, in: index, bench) } == [])
    }

    @Test func changesReportMovedDevices() throws {
        let bench = try Bench()
        var index = try bench.registry.load()
        let contents = [
            Samples.phone("a"), Samples.phone("a", further: #","mode":"alert""#), Samples.phone("b"),
            #"{"platform":"android","token":"b"}"#, #"{"platform":"android","token":"b","app":"other"}"#,
            #"{"platform":"android","token":"b","app":"other","locale":"de"}"#,
        ]
        var elsewhere: [Bool] = []
        for (number, content) in contents.enumerated() {
            _ = try bench.registry.apply(bench.event(of: 1, content, at: Int64(number)))
            bench.registry.update(&index) { if case .put(let device) = $0 { elsewhere.append(device.isElsewhere) } }
        }
        #expect(elsewhere == [false, false, true, true, true, false])
    }

    @Test func registrationsDoNotUseUpLanguageSlots() throws {
        let further = (0..<300).compactMap { LanguageTag("de-\(100 + $0)") }
        let names = LanguageNames(further + further)
        #expect(names[names.best(for: further[0])] == further[0])
        #expect(names[names.best(for: further[254])] == further[254])
        // Beyond the limit, devices get the texts of others with their language.
        #expect(names[names.best(for: further[255])] == further[0])
        #expect(names.best(for: LanguageTag("fr")) == .none)
        #expect(names[.none] == nil)
    }

    private func language(of account: UInt8, in index: borrowing MatchIndex, _ bench: Bench) throws -> String? {
        var languages: [String?] = []
        if let number = index.account(of: try bench.key(account)) {
            index.forEachDevice(of: number) { languages.append(index.languages[$0.language]?.description) }
        }
        return try #require(languages.first)
    }

    private func expectSameAsLoaded(_ index: borrowing MatchIndex, _ bench: Bench) throws {
        let loaded = try bench.registry.load()
        #expect(loaded.accountCount == index.accountCount)
        #expect(loaded.deviceCount == index.deviceCount)
        loaded.forEachAccount { key in
            #expect(entries(of: key, in: loaded) == entries(of: key, in: index))
        }
    }

    private func entries(of key: PublicKey, in index: borrowing MatchIndex) -> Set<DeviceEntry> {
        var entries: Set<DeviceEntry> = []
        if let account = index.account(of: key) { index.forEachDevice(of: account) { entries.insert($0) } }
        return entries
    }
}
