import Cipher
import Core
import Foundation
import GRDB
import Nostr
import PlatformTestSupport
import Push
import Testing
import TimeTestSupport

@testable import Registry

/// A registry whose router gets another key: the registrations read, sealed and rejected under each.
struct RouterKeyTests {
    private static let retirement = Bench.time(1_000)

    private let bench: Bench
    private let next: KeyPair

    init() throws {
        bench = try Bench()
        next = try KeyPair(secret: SecretKey(bytes: Array(repeating: 0x12, count: 32)))
    }

    private var keys: RouterKeyStore { RouterKeyStore(bench.registry.store) }

    private func registry(as identity: KeyPair) throws -> Registry {
        let clock = bench.clock
        return try Registry(
            store: RegistryStore(path: bench.path),
            identity: identity,
            now: clock.now,
            platforms: .builtIn,
            check: { _ in }
        )
    }

    private func begin() throws {
        try keys.begin(next, after: bench.identity, retiresAt: Self.retirement, now: Bench.time())
    }

    /// A registration with the next key.
    private func event(
        of account: UInt8,
        _ json: String,
        at seconds: Int64,
        device: String? = nil,
        id: UInt8 = 0x81
    ) throws -> Event {
        let author = try bench.account(account)
        let key = try ConversationKey(secret: author.secret, public: next.publicKey)
        let nonce = [UInt8](repeating: account ^ id, count: NIP44.nonceByteCount)
        return try bench.event(
            of: account,
            content: json.isEmpty ? "" : NIP44.encrypt(json, key: key, nonce: nonce),
            at: seconds,
            id: id,
            tags: [["d", next.publicKey.hex + (device.map { ":\($0)" } ?? "")]]
        )
    }

    private func token(_ device: Int64, in registry: Registry) throws -> String? {
        try registry.address(of: DeviceID(rawValue: device))?.token
    }

    // MARK: Registrations

    @Test func registrationsToEitherKeyAreReadAndMoveTheirDevice() throws {
        #expect(
            try bench.registry.apply(bench.event(of: 1, Samples.phone("one"))) == .registered(DeviceID(rawValue: 1))
        )
        try begin()
        let registry = try registry(as: next)
        #expect(registry.keys.names.answering == [next.publicKey, bench.identity.publicKey])
        let old = try bench.event(of: 2, Samples.phone("two"), at: 1)
        #expect(try registry.apply(old) == .registered(DeviceID(rawValue: 2)))
        #expect(try registry.devicesByRouterKey() == [1: 2])
        #expect(try registry.apply(event(of: 1, Samples.phone("new"), at: 2)) == .updated(DeviceID(rawValue: 1)))
        #expect(try registry.devicesByRouterKey() == [1: 1, 2: 1])
        #expect(try token(1, in: registry) == "new")
    }

    @Test func deregistrationAtTheFormerKeyKeepsAMovedDevice() throws {
        let first = try bench.event(of: 1, Samples.phone("one"), kind: .addressablePushRegistration)
        _ = try bench.registry.apply(first)
        try begin()
        let registry = try registry(as: next)
        _ = try registry.apply(event(of: 1, Samples.phone("one"), at: 2))
        let farewell = try bench.event(of: 1, "", at: 3, id: 0x90)
        #expect(try registry.apply(farewell) == .moved)
        let address = "30062:\(try bench.key(1).hex):\(bench.identity.publicKey.hex)"
        let deletion = try #require(
            Deletion(
                bench.event(
                    of: 1,
                    content: "",
                    at: 4,
                    id: 0x91,
                    kind: .deletion,
                    tags: [["a", address], ["e", first.id.hex]]
                )
            )
        )
        #expect(try registry.apply(deletion) == 0)
        #expect(try token(1, in: registry) == "one")
        #expect(try registry.apply(event(of: 1, "", at: 5, id: 0x92)) == .deregistered)
        #expect(try token(1, in: registry) == nil)
    }

    @Test func retiredKeyIsRefusedByNameButAcceptsDeregistrations() throws {
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone("one")), bench.event(of: 2, Samples.phone("two"), id: 0x70),
        ])
        try begin()
        let late = try bench.event(of: 3, Samples.phone("three"), at: 1_000)
        let reason = "tag d: this router's key is another one now: register with \(next.publicKey.hex)"
        bench.clock.advance(by: .seconds(1_000))
        let due = try registry(as: next)
        #expect(try due.apply(late) == .refused(.invalid(reason)))
        // The day has come, but the operator has not retired the key: existing devices get sealed pushes as before.
        #expect(try due.sealing(of: DeviceID(rawValue: 1))?.sender.publicKeyBytes == bench.identity.publicKey.array)

        #expect(try keys.retireIfDue(by: next, now: Self.retirement)?.key == bench.identity.publicKey)
        #expect(try keys.retireIfDue(by: next, now: Self.retirement) == nil)
        let after = try registry(as: next)
        #expect(after.keys.names.answering == [next.publicKey])
        #expect(try after.apply(late) == .refused(.invalid(reason)))
        #expect(try after.devicesByRouterKey() == [1: 2])
        #expect(try token(1, in: after) == "one")
        #expect(try after.sealing(of: DeviceID(rawValue: 1)) == nil)
        #expect(try after.apply(bench.event(of: 1, "", at: 1_001, id: 0x93)) == .deregistered)
    }

    @Test func devicesThatDidNotMoveCanBeRemoved() throws {
        for number in 1...(UInt8(3)) {
            _ = try bench.registry.apply(bench.event(of: number, Samples.phone("\(number)"), id: number))
        }
        try begin()
        let registry = try registry(as: next)
        _ = try registry.apply(event(of: 1, Samples.phone("1"), at: 2))
        let former = try #require(try keys.table().former)
        #expect(try keys.removeDevices(of: former) == 2)
        #expect(try keys.devices() == [2: 1])
        #expect(try keys.removeDevices(of: former) == 0)
    }

    // MARK: What is sealed

    @Test func pushesAreSealedFromTheKeyThatTheDeviceRegisteredTo() throws {
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("two")))
        try begin()
        let registry = try registry(as: next)
        func sender(_ device: Int64) throws -> [UInt8]? {
            try registry.sealing(of: DeviceID(rawValue: device))?.sender.publicKeyBytes
        }
        #expect(try sender(1) == bench.identity.publicKey.array)
        _ = try registry.apply(event(of: 1, Samples.phone("one"), at: 2))
        #expect(try sender(1) == next.publicKey.array, "not the one in memory")
        #expect(try sender(2) == bench.identity.publicKey.array)
    }

    @Test func rotationResealsEverythingAndLocksOutTheOldKey() throws {
        _ = try bench.registry.apply(
            bench.event(of: 1, Samples.phone("one", further: #","quiet":{"start":"22:00","end":"07:00","tz":"Z"}"#))
        )
        let text = String(repeating: "ab", count: 32)
        let token = IngressToken(token: text, isSandbox: false, app: "default", platform: "ios")
        guard case .admitted(let ingress) = try #require(try bench.registry.admit([token]).first) else {
            Issue.record("the sealed ingress takes the token")
            return
        }
        let states = try PluginStateTable(store: bench.registry.store, identity: bench.identity)
        let entry = StateEntry(key: Array("k".utf8), value: Array("v".utf8))
        try states.write([PluginStateTable.Change(owner: "ios", entry: entry)], now: Bench.time())
        try begin()
        #expect(try !keys.isResealed(by: next))
        #expect(try keys.reseal(by: next) == 5)
        #expect(try keys.reseal(by: next) == 0)
        #expect(try keys.isResealed(by: next))

        let database = try DatabaseQueue(path: bench.path)
        let seals = try database.read { db in
            try Data.fetchAll(
                db,
                sql: """
                    SELECT address FROM secrets UNION ALL SELECT content FROM secrets
                    UNION ALL SELECT wishes FROM devices WHERE wishes IS NOT NULL
                    UNION ALL SELECT address FROM ingress_devices UNION ALL SELECT sealed FROM plugin_states
                    """
            )
        }
        #expect(seals.count == 5 && seals.allSatisfy { $0.first == 2 })
        let old = try TokenVault(identity: bench.identity.secret)
        #expect(throws: RegistryStoreError.self) {
            try old.open(Array(seals[0]), of: DeviceID(rawValue: 1), for: .address)
        }
        let registry = try registry(as: next)
        #expect(try self.token(1, in: registry) == "one")
        #expect(try registry.preferences(of: DeviceID(rawValue: 1))?.isEmpty == false)
        #expect(try registry.content(of: DeviceID(rawValue: 1)) != nil)
        #expect(try registry.ingressAddress(of: ingress)?.token == token.token)
        // Its handle keeps the same number.
        #expect(try registry.admit([token]) == [.admitted(ingress)])
        let opened = try PluginStateTable(store: registry.store, identity: next).entries(of: "ios")
        #expect(opened.entries.map(\.value) == [entry.value] && opened.unreadable == 0)
        #expect(try RegistryExamination(path: bench.path, identity: next).run().findings == [])
    }

    @Test func resealingResumesAfterAnyInterruption() throws {
        struct Stop: Error {}
        let count: UInt8 = 5
        for number in 1...count {
            _ = try bench.registry.apply(bench.event(of: number, Samples.phone("t\(number)"), id: number))
        }
        try begin()
        _ = try registry(as: next)
        var stops = 0
        for timeout in 0... {
            var left = timeout
            do {
                try keys.reseal(by: next) { _ in
                    if left == 0 { throw Stop() }
                    left -= 1
                }
                break
            } catch is Stop {
                stops += 1
                // A router that starts in between finds everything.
                let registry = try registry(as: next)
                for number in 1...Int64(count) { #expect(try token(number, in: registry) == "t\(number)") }
            }
        }
        #expect(stops > 5)
        #expect(try RegistryExamination(path: bench.path, identity: next).run().findings == [])
        let registry = try registry(as: next)
        for number in 1...Int64(count) { #expect(try token(number, in: registry) == "t\(number)") }
    }

    @Test func keyedHashesAreStableAcrossRotations() throws {
        let seeds = bench.registry.keys.seeds
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        try begin()
        try keys.reseal(by: next)
        try keys.retire(by: next, now: Bench.time(1))
        let third = try KeyPair(secret: SecretKey(bytes: Array(repeating: 0x13, count: 32)))
        try keys.begin(third, after: next, retiresAt: Self.retirement, now: Bench.time(2))
        try keys.reseal(by: third)
        let registry = try registry(as: third)
        for purpose in KeySeeds.Purpose.allCases { #expect(registry.keys.seeds[purpose] == seeds[purpose]) }
        #expect(try token(1, in: registry) == "one")
        #expect(registry.keys.names.retired.map(\.key) == [bench.identity.publicKey])
        #expect(registry.keys.names.former?.key == next.publicKey)
        // The token is found by its handle: it moves to the account that registers it.
        _ = try registry.apply(
            bench.event(of: 2, content: content("one", from: 2, to: third), at: 9, tags: [["d", third.publicKey.hex]])
        )
        #expect(try token(1, in: registry) == nil)
    }

    private func content(_ token: String, from account: UInt8, to key: KeyPair) throws -> String {
        let conversation = try ConversationKey(secret: bench.account(account).secret, public: key.publicKey)
        return try NIP44.encrypt(
            Samples.phone(token),
            key: conversation,
            nonce: [UInt8](repeating: 7, count: NIP44.nonceByteCount)
        )
    }

    // MARK: Who opens it

    @Test func eitherKeyOpensTheStoreUntilTheNextOneDid() throws {
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one")))
        try begin()
        let before = try registry(as: bench.identity)
        #expect(before.keys.names.answering == [bench.identity.publicKey])
        #expect(try token(1, in: before) == "one")
        let reader = try RegistryStore(reading: bench.path)
        #expect(try reader.claim(for: next).keys.names.answering == [next.publicKey, bench.identity.publicKey])
        #expect(try token(1, in: registry(as: bench.identity)) == "one", "looking decides nothing")
        #expect(try token(1, in: registry(as: next)) == "one")
        #expect(throws: RegistryStoreError.anotherIdentity(path: bench.path)) { try registry(as: bench.identity) }
        #expect(throws: RegistryStoreError.anotherIdentity(path: bench.path)) {
            try RegistryStore(reading: bench.path).claim(for: bench.identity)
        }
        #expect(throws: RegistryStoreError.anotherIdentity(path: bench.path)) { try registry(as: bench.account(1)) }
    }

    @Test func secretOfARetiredKeyIsErased() throws {
        try begin()
        _ = try registry(as: next)
        #expect(try keys.pair(of: bench.identity.publicKey, by: next) != nil)
        try keys.reseal(by: next)
        try keys.retire(by: next, now: Bench.time())
        #expect(try keys.pair(of: bench.identity.publicKey, by: next) == nil)
    }

    @Test func keyRingIsOpenedOnlyByItsKey() throws {
        let ring = KeyRing(identity: bench.identity.secret).renewed(random: SecureRandom.bytes)
            .holding([bench.identity.secret])
        let sealed = try ring.sealed(for: next, random: SecureRandom.bytes)
        let opened = try #require(KeyRing(sealed, for: next))
        #expect(opened.roots.map(\.number) == [1, 2] && opened.roots.map(\.bytes) == ring.roots.map(\.bytes))
        #expect(opened.pair(of: bench.identity.publicKey) != nil && opened.pair(of: next.publicKey) == nil)
        #expect(KeyRing(sealed, for: bench.identity) == nil)
        #expect(KeyRing(Array(sealed.dropLast()), for: next) == nil)
        #expect(KeyRing([], for: next) == nil)
        #expect("\(opened)".contains("concealed"))
    }

    @Test func numbersOfRootsStayWithinAByte() throws {
        var ring = KeyRing(identity: bench.identity.secret)
        var numbers: [UInt8] = []
        for _ in 0..<300 {
            ring = ring.renewed(random: SecureRandom.bytes)
            numbers.append(ring.roots.last?.number ?? 0)
            #expect(Set(ring.roots.map(\.number)).count == 2)
            ring = ring.resealed
        }
        #expect(numbers.prefix(3) == [2, 3, 4] && numbers.contains(255) && !numbers.contains(0))
        #expect(numbers[254] == 1)
    }
}
