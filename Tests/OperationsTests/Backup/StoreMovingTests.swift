import Cipher
import Core
import Delivery
import DeliveryTestSupport
import Foundation
import Nostr
import Push
import Registry
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Operations

/// A folder with a store: a registry without a real account, and an outbox with deliveries.
private struct Place {
    let folder: String
    let configuration: Configuration

    init(deliveries: Int = 3) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "moving-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder + "/old", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: folder + "/new", withIntermediateDirectories: true)
        configuration = Configuration(keyFile: folder + "/old/carillon.key", storePath: folder + "/old/carillon.sqlite")
        let identity = try IdentityFile(path: configuration.identity.keyFile).create(random: SecureRandom.bytes)
        let store = try RegistryStore(path: configuration.store.path)
        _ = try Registry(store: store, identity: identity, now: Timestamp.now, check: { _ in })
        let outbox = try Outbox(path: configuration.store.outboxPath)
        try add(deliveries, to: outbox)
    }

    func add(_ count: Int, to outbox: Outbox) throws {
        let all = (0..<count).map { number in
            Delivery(
                id: "\(outbox.count)-\(number)",
                device: DeviceID(rawValue: Int64(number)),
                platform: "ios",
                app: "default",
                notification: Notification(mode: .wake, signal: .dm),
                acceptedAt: .now()
            )
        }
        try outbox.insert(all) { _ in }
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }

    func backup(_ change: (inout BackupCreation.Options) -> Void = { _ in }) throws -> String {
        var options = BackupCreation.Options()
        options.withKey = true
        change(&options)
        let path = folder + "/backup.tar"
        _ = try BackupCreation(configuration: configuration, options: options).run(to: path)
        return path
    }

    func restore(
        _ backup: String,
        dropsWaiting: Bool = false,
        reached: @escaping (StagedStore.Step) throws -> Void = { _ in }
    ) throws -> BackupRestore.Report? {
        try BackupRestore(path: backup, store: new, dropsWaiting: dropsWaiting, reached: reached).run()
    }

    func migrate(reached: @escaping (StoreMigration.Step) throws -> Void = { _ in }) throws -> StoreMigration.Report {
        try StoreMigration(configuration: configuration, folder: folder + "/new", reached: reached).run()
    }

    var new: String { folder + "/new/carillon.sqlite" }
    var newConfiguration: Configuration { Configuration(keyFile: folder + "/new/carillon.key", storePath: new) }

    /// Returns the number of deliveries that wait at the new place. Throws if a router could not serve it.
    func waitingAtNew() throws -> Int {
        if let unusable = UnusableStore(newConfiguration) { throw unusable }
        let identity = try IdentityFile(path: newConfiguration.identity.keyFile).read()
        let store = try RegistryStore(path: new)
        _ = try Registry(store: store, identity: identity, now: Timestamp.now, check: { _ in })
        return try Outbox(path: new + "-outbox").count
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder + "/new").sorted() }
    }
}

private struct Interruption: Error {}

@Suite struct StoreMovingTests {
    @Test func backupIsRestored() throws {
        let place = try Place()
        defer { place.remove() }
        let backup = try place.backup()
        let found = try BackupReport(verifying: backup, in: place.folder)
        #expect(found.keyFits == true && found.waiting == 3 && !found.isEncrypted)
        let report = try #require(try place.restore(backup))
        #expect(report.waiting == 3)
        #expect(try place.waitingAtNew() == 3)
        let attributes = try FileManager.default.attributesOfItem(atPath: backup)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    /// Identity, relay marks, plugin state, paces and accepted events.
    @Test(arguments: [false, true]) func everythingIsMigrated(byMigration: Bool) throws {
        let place = try Place()
        defer { place.remove() }
        let identity = try IdentityFile(path: place.configuration.identity.keyFile).read()
        let relay = StoredRelay(number: RelayNumber(rawValue: 1), url: "wss://relay.example", mark: 1_700_000_000)
        let entry = StateEntry(key: Array("cursor".utf8), value: Array("7".utf8))
        let cause = [UInt8](repeating: 5, count: 32)
        let pace = PaceRow(device: DeviceID(rawValue: 1), pushedAt: .now(), pushes: 3)
        do {
            let store = try RegistryStore(path: place.configuration.store.path)
            try store.write { try $0.put(relay) }
            try PluginStateTable(store: store, identity: identity)
                .write([PluginStateTable.Change(owner: "mutes", entry: entry)], now: .now())
            var changes = PaceChanges()
            changes.rows = [pace]
            try Outbox(path: place.configuration.store.outboxPath).insert([], causes: [cause], pace: changes) { _ in }
        }
        _ = try byMigration ? place.migrate().text : place.restore(place.backup())?.text

        let moved = try IdentityFile(path: place.newConfiguration.identity.keyFile).read()
        #expect(moved.publicKey == identity.publicKey)
        let store = try RegistryStore(path: place.new)
        #expect(try store.read { try $0.watchRelays() } == [relay])
        let states = try PluginStateTable(store: store, identity: moved).entries(of: "mutes")
        #expect(states.entries == [entry] && states.unreadable == 0)
        let outbox = try Outbox(path: place.new + "-outbox")
        var causes: [[UInt8]] = []
        try outbox.forEachCause { causes.append(Array($0)) }
        #expect(causes == [cause])
        var paces: [PaceRow] = []
        try outbox.loadPaces(at: .now(), pace: { paces.append($0) }, member: { _ in }, held: { _ in })
        #expect(paces == [pace])
        #expect(outbox.count == 3)
    }

    @Test func queuedPushesAreOmittedOnRequest() throws {
        let place = try Place()
        defer { place.remove() }
        #expect(try place.restore(place.backup(), dropsWaiting: true)?.dropped == 3)
        #expect(try place.waitingAtNew() == 0)
    }

    @Test func existingFilesAreNotOverwritten() throws {
        let place = try Place()
        defer { place.remove() }
        let backup = try place.backup()
        #expect(throws: BackupError.self) { try place.backup() }
        for name in ["", "-wal", "-outbox", "-trace", "-files", "-moved"] {
            let path = place.new + name
            try Data([1]).write(to: URL(fileURLWithPath: path))
            #expect(throws: BackupError.self, "\(name)") { try place.restore(backup) }
            #expect(FileManager.default.contents(atPath: path) == Data([1]))
            try FileManager.default.removeItem(atPath: path)
        }
        let key = try IdentityFile(path: place.folder + "/new/carillon.key").create(random: SecureRandom.bytes)
        #expect(throws: BackupError.self) { try place.restore(backup) }
        #expect(try IdentityFile(path: place.folder + "/new/carillon.key").read().publicKey == key.publicKey)
    }

    @Test func refusesWhileARouterRunsThere() throws {
        let place = try Place()
        defer { place.remove() }
        let backup = try place.backup()
        let lock = try StoreLock(store: place.new)
        #expect(throws: StoreLockError.self) { try place.restore(backup) }
        #expect(throws: StoreLockError.self) { try place.migrate() }
        lock.release()
        let old = try StoreLock(store: place.configuration.store.path)
        #expect(throws: StoreLockError.self) { try place.migrate() }
        old.release()
        _ = try place.migrate()
    }

    @Test func damagedBackupLeavesNoFiles() throws {
        let place = try Place()
        defer { place.remove() }
        let backup = try place.backup()
        var bytes = try #require(FileManager.default.contents(atPath: backup))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: backup))
        #expect(throws: BackupError.self) { try place.restore(backup) }
        #expect(throws: (any Error).self) { try place.waitingAtNew() }
        #expect(UnusableStore(place.newConfiguration) == nil)
        #expect(try place.names.allSatisfy { $0.hasSuffix("-lock") })
    }

    /// After an interrupted restore, a router refuses to start with a part of it; repeating the restore is enough.
    @Test func aRestoreCanBeInterruptedAnywhere() throws {
        var steps: [StagedStore.Step] = []
        let whole = try Place()
        defer { whole.remove() }
        _ = try whole.restore(whole.backup()) { steps.append($0) }
        #expect(steps.starts(with: [.made, .ready]) && steps.last == .removed)
        #expect(steps.dropLast().last == .moved("registry"))
        for step in steps.dropLast() {
            let place = try Place()
            defer { place.remove() }
            let backup = try place.backup()
            #expect(throws: Interruption.self) { try place.restore(backup) { if $0 == step { throw Interruption() } } }
            #expect(throws: UnusableStore.self, "\(step)") { try place.waitingAtNew() }
            let again = try place.restore(backup)
            #expect((again == nil) == (step != .made), "\(step)")
            #expect(try place.waitingAtNew() == 3)
        }
    }

    /// At no moment can both places be served. After a repetition, one of them can.
    @Test func aMigrationCanBeInterruptedAnywhere() throws {
        var steps: [StoreMigration.Step] = []
        let whole = try Place()
        defer { whole.remove() }
        #expect(try whole.migrate { steps.append($0) }.waiting == 3)
        #expect(steps.count > 6)
        for step in steps {
            let place = try Place()
            defer { place.remove() }
            #expect(throws: Interruption.self) { try place.migrate { if $0 == step { throw Interruption() } } }
            let oldIsUsable = UnusableStore(place.configuration) == nil
            let newIsUsable = (try? place.waitingAtNew()) != nil
            #expect(!(oldIsUsable && newIsUsable), "\(step)")
            #expect(try place.migrate().waiting == 3, "\(step)")
            #expect(try place.waitingAtNew() == 3)
            #expect(UnusableStore(place.configuration) != nil)
            #expect(try place.migrate().wasDone)
        }
    }

    @Test func retiredStoreIsNotServed() throws {
        let place = try Place()
        defer { place.remove() }
        let backup = try place.backup { $0.retires = true }
        #expect(UnusableStore(place.configuration)?.description.contains(backup) == true)
        _ = try place.restore(backup)
        #expect(try place.waitingAtNew() == 3)
        #expect(throws: BackupError.self) { try place.migrate() }
    }

    /// While a writer continues, every record in the registry's copy has its counterpart in the outbox's copy.
    @Test func bothDatabasesAreCopiedConsistently() throws {
        let place = try Place(deliveries: 0)
        defer { place.remove() }
        let registry = try RegistryStore(path: place.configuration.store.path)
        let outbox = try Outbox(path: place.configuration.store.outboxPath)
        let relay = RelayNumber(rawValue: 1)
        try registry.write { try $0.put(StoredRelay(number: relay, url: "wss://relay.example", mark: 0)) }
        let written = try StoreSnapshot(store: place.configuration.store.path, withCaches: true).copy(
            to: place.folder + "/new"
        ) {
            // The outbox changes while the registry waits; the copy must not contain this change.
            try place.add(5, to: outbox)
        }
        try registry.write { try $0.mark(relay, upTo: 5) }
        #expect(written.map(\.role) == [.registry, .outbox])
        let copy = try RegistryStore(reading: place.folder + "/new/registry")
        #expect(try copy.read { try $0.watchRelays() }.map(\.mark) == [0])
        #expect(try Outbox(path: place.folder + "/new/outbox").count == 0)
        #expect(outbox.count == 5)
    }
}
