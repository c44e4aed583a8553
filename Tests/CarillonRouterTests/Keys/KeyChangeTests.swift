import Cipher
import Core
import Foundation
import Nostr
import Push
import Registry
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Operations

/// `carillon keys rotate`, `undo` and `retire` on files, stopped after each step.
final class KeyChangeTests {
    private static let now = Timestamp(seconds: 1_773_446_400)

    private struct Stop: Error {}

    private let folder: String
    private let configuration: Configuration
    private let first: KeyPair
    private let phone: KeyPair

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-keys-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        configuration = Configuration(keyFile: folder + "/carillon.key", storePath: folder + "/carillon.sqlite")
        first = try IdentityFile(path: configuration.identity.keyFile).create(random: SecureRandom.bytes)
        phone = try KeyPair(random: SecureRandom.bytes)
        try register("one", to: first.publicKey, at: -100)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private var key: KeyPair { get throws { try IdentityFile(path: configuration.identity.keyFile).read() } }

    /// Opens the registry like a router.
    private func registry() throws -> Registry {
        try Registry(
            store: RegistryStore(path: configuration.store.path),
            identity: key,
            now: { Self.now },
            check: { _ in }
        )
    }

    private func register(_ token: String, to router: PublicKey, at seconds: Int64) throws {
        let key = try ConversationKey(secret: phone.secret, public: router)
        let event = try Event.signed(
            kind: .pushRegistration,
            createdAt: Self.now.seconds + seconds,
            tags: [["d", router.hex]],
            content: NIP44.encrypt(
                #"{"platform":"ios","token":"\#(token)"}"#,
                key: key,
                nonce: SecureRandom.bytes(NIP44.nonceByteCount)
            ),
            by: phone
        )
        #expect(try registry().apply(event).isAccepted)
    }

    private var token: String? {
        get throws {
            let registry = try registry()
            return try registry.devices().first.flatMap { try registry.address(of: $0.device)?.token }
        }
    }

    private func change(at time: Timestamp = now, stopAfter steps: Int = .max) -> KeyChange {
        var left = steps
        return KeyChange(
            configuration: configuration,
            now: { time },
            reached: { _ in
                left -= 1
                if left == 0 { throw Stop() }
            }
        )
    }

    /// Runs `body` until it stops after `steps` steps. Returns whether it ended before.
    private func isThrough(_ steps: Int, _ body: (KeyChange) throws -> KeyReport) throws -> Bool {
        do {
            _ = try body(change(stopAfter: steps))
            return true
        } catch is Stop {
            return false
        }
    }

    @Test func rotationAddsANewKeyNextToTheOldOne() throws {
        let report = try change().rotate()
        #expect(report.keys.map(\.state) == ["current", "former"])
        #expect(report.keys.map(\.devices) == [0, 1])
        #expect(try report.keys.map(\.hex) == [key.publicKey.hex, first.publicKey.hex])
        #expect(report.keys[1].retiresAt == "2026-04-13T00:00:00.000Z")
        #expect(try key.publicKey != first.publicKey)
        #expect(try token == "one")
        let again = try change().rotate()
        #expect(again.keys.map(\.hex) == report.keys.map(\.hex), "it is done already")
        let later = try change().rotate(retireAfter: .days(60))
        #expect(later.keys[1].retiresAt == "2026-05-13T00:00:00.000Z")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains("next") } == [])
        let mode = try FileManager.default.attributesOfItem(atPath: configuration.identity.keyFile)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    /// A count is valid for a minute; devices that register in that time appear in the next one.
    @Test func devicesAreCountedByTheStateOfTheirKey() async throws {
        let clock = ManualClock(Self.now)
        #expect(try await states(at: clock) == ["current 1"])
        _ = try change().rotate()
        let census = DeviceKeyCounts(registry: try registry(), now: clock.now)
        #expect(await census.devicesByState()?.map { "\($0.state) \($0.devices)" } == ["current 0", "former 1"])
        try register("two", to: key.publicKey, at: -50)
        clock.advance(by: .seconds(59))
        #expect(await census.devices() == [1: 1])
        clock.advance(by: .seconds(1))
        #expect(await census.devices() == [2: 1])
        clock.time = Self.now
        try register("three", to: first.publicKey, at: -40)
        #expect(await census.devices() == [1: 1], "a count from before the clock was put back")
        _ = try change().retire(early: true)
        #expect(try await states(at: clock) == ["current 0", "retired 1"])
    }

    private func states(at clock: ManualClock) async throws -> [String]? {
        await DeviceKeyCounts(registry: try registry(), now: clock.now).devicesByState()?.map {
            "\($0.state) \($0.devices)"
        }
    }

    /// After a stop at any step, a router starts with the existing files, and the change is finished.
    @Test func aRotationThatStopsAnywhereIsFinished() throws {
        for steps in 1... {
            let test = try KeyChangeTests()
            let isThrough = try test.isThrough(steps) { try $0.rotate() }
            #expect(try test.token == "one", "stopped after \(steps)")
            let report = try test.change().rotate()
            #expect(report.keys.map(\.state) == ["current", "former"], "stopped after \(steps)")
            #expect(report.keys.last?.hex == test.first.publicKey.hex)
            #expect(try test.token == "one")
            if isThrough {
                #expect(steps > 8)
                return
            }
        }
    }

    @Test func aRotationThatStopsAnywhereIsUndone() throws {
        for steps in 1... {
            let test = try KeyChangeTests()
            let isThrough = try test.isThrough(steps) { try $0.rotate() }
            let report = try test.change().undo()
            #expect(report.keys.first { $0.state == "current" }?.hex == test.first.publicKey.hex)
            #expect(!report.keys.contains { $0.state == "former" || $0.state == "next" }, "stopped after \(steps)")
            #expect(try test.key.publicKey == test.first.publicKey)
            #expect(try test.token == "one")
            // A rotation after the undo starts from scratch.
            #expect(try test.change().rotate().keys.contains { $0.state == "former" && $0.devices == 1 })
            if isThrough { return }
        }
    }

    @Test func anUndoThatStopsAnywhereIsFinishedOrForgotten() throws {
        for goal in [KeyChangeGoal.undo, .rotate] {
            for steps in 1... {
                let test = try KeyChangeTests()
                let second = try #require(try test.change().rotate().keys.first?.hex)
                let isThrough = try test.isThrough(steps) { try $0.undo() }
                #expect(try test.token == "one", "stopped after \(steps)")
                switch goal {
                case .undo:
                    _ = try test.change().undo()
                    #expect(try test.key.publicKey == test.first.publicKey)
                case .rotate:
                    // If the undo had come too far, the old key is used again.
                    let isBack = try test.key.publicKey == test.first.publicKey
                    let report = try? test.change().rotate()
                    if !isBack { #expect(report?.keys.first?.hex == second) }
                }
                #expect(try test.token == "one")
                if isThrough { break }
            }
        }
    }

    @Test func anUndoKeepsTheNewKeyAsLongAsDevicesAreRegisteredToIt() throws {
        let hex = try change().rotate().keys.first?.hex ?? ""
        let second = try #require(PublicKey(hex: hex))
        try register("moved", to: second, at: -50)
        for _ in 0..<2 {
            let report = try change().undo()
            #expect(report.keys.map(\.state) == ["former", "current"])
            #expect(report.keys.map(\.devices) == [1, 0])
        }
        #expect(throws: KeyChangeError.withdrawnKey) { try self.change().rotate() }
        try register("moved back", to: first.publicKey, at: -20)
        let report = try change().undo()
        #expect(report.keys.map(\.state) == ["retired", "current"])
        #expect(try token == "moved back")
    }

    @Test func theFormerKeyRetiresAtItsDateOrWhenItMust() throws {
        _ = try change().rotate(retireAfter: .days(2))
        #expect(throws: KeyChangeError.tooEarly("2026-03-16 00:00:00 UTC")) { try self.change().retire() }
        let report = try change(at: Self.now + .days(2)).retire()
        #expect(report.keys.map(\.state) == ["current", "retired"])
        #expect(report.text.contains("1 devices have not moved"))
        #expect(try change().retire().keys.map(\.state) == ["current", "retired"], "it is done already")
        // The next change is independent.
        let next = try change().rotate()
        #expect(next.keys.map(\.state) == ["current", "former", "retired"])
        #expect(try token == "one")
        #expect(try change().undo().keys.map(\.state) == ["retired", "current", "retired"])
    }

    @Test func unmovedDevicesAreRemovedWithTheirKeyIfRequested() throws {
        _ = try change().rotate()
        let report = try change().retire(early: true, removesDevices: true)
        #expect(report.keys.map(\.devices) == [0, 0])
        #expect(try token == nil)
    }

    @Test func keyIsNotRetiredDuringAChange() throws {
        #expect(try !isThrough(2) { try $0.rotate() })
        #expect(throws: KeyChangeError.unfinished) { try self.change().retire(early: true) }
    }

    @Test func keyChangeIsRefusedWhileARouterRuns() throws {
        let lock = try StoreLock(store: configuration.store.path)
        #expect(throws: StoreLockError.self) { try self.change().rotate() }
        withExtendedLifetime(lock) {}
        #expect(try key.publicKey == first.publicKey)
    }

    @Test func anotherRoutersKeyIsRefused() throws {
        try FileManager.default.removeItem(atPath: configuration.identity.keyFile)
        _ = try IdentityFile(path: configuration.identity.keyFile).create(random: SecureRandom.bytes)
        #expect(throws: RegistryStoreError.self) { try self.change().rotate() }
        #expect(!FileManager.default.fileExists(atPath: configuration.identity.keyFile + ".next"))
    }

    @Test func symbolicLinkIsPreserved() throws {
        try FileManager.default.moveItem(atPath: configuration.identity.keyFile, toPath: folder + "/kept.key")
        try FileManager.default.createSymbolicLink(
            atPath: configuration.identity.keyFile,
            withDestinationPath: folder + "/kept.key"
        )
        let report = try change().rotate()
        #expect(try IdentityFile(path: folder + "/kept.key").read().publicKey.hex == report.keys.first?.hex)
        let link = try FileManager.default.destinationOfSymbolicLink(atPath: configuration.identity.keyFile)
        #expect(link == folder + "/kept.key")
    }

    @Test func keysAreListedWithAndWithoutARunningRouter() throws {
        let before = try KeyReport(of: configuration)
        #expect(before.keys.map(\.state) == ["current"] && before.keys.map(\.devices) == [1])
        _ = try change().rotate()
        let lock = try StoreLock(store: configuration.store.path)
        #expect(try KeyReport(of: configuration).keys.map(\.devices) == [0, 1])
        withExtendedLifetime(lock) {}
    }
}
