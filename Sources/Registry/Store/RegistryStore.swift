import GRDB
import Nostr
import Push
import Storage
import Synchronization

/// The registry on disk: one SQLite database.
///
/// Every transaction is on the disk when it returns. Opening throws a `StoreError` for a damaged database, another
/// program's and one of an unknown format, and changes none of them.
package final class RegistryStore: Sendable {
    package static let kind = StoreKind(
        name: "the registry",
        costOfLoss: "forgets every device until its app registers again",
        table: "tombstones",
        migrator: RegistrySchema.migrator,
        mend: RegistryRepair.mend
    )

    package let path: String
    private let pool: DatabasePool
    private let watch: CorruptionGuard
    /// Whether it was opened for reading only.
    let isForReading: Bool
    /// Nil: this registry does not belong to a cluster.
    private let replica = Mutex<RegistryReplica?>(nil)
    /// Only one thread at a time applies changes of other members.
    private let catchingUp = Mutex(())

    /// Opens or creates the database at `path`, readable by this user only. `damaged` is called once if the file turns
    /// out to be damaged later. The store writes nothing after that.
    package init(path: String, damaged: @escaping @Sendable (StoreError) -> Void = { _ in }) throws {
        self.path = path
        let file = StoreFile(path: path, kind: Self.kind)
        watch = CorruptionGuard(file, report: damaged)
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.label = "carillon registry"
        pool = try file.open(configuration)
        isForReading = false
    }

    /// Opens the database of a router that may be running, without changing it. Throws a `StoreError` if it does not
    /// exist or cannot be used.
    package init(reading path: String) throws {
        self.path = path
        let file = StoreFile(path: path, kind: Self.kind)
        watch = CorruptionGuard(file) { _ in }
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.label = "carillon registry, read"
        pool = try file.openForReading(configuration)
        isForReading = true
    }

    /// The damage found since it was opened; nil if there is none.
    package var damage: StoreError? { watch.damage }

    /// Makes `identity` the owner of a registry that has none, and opens its keys. If the owner's key is being changed
    /// and `identity` is the next one, it is the owner from now on.
    ///
    /// Throws a ``RegistryStoreError`` if another key is the owner.
    @discardableResult
    func claim(for identity: KeyPair) throws -> OwnKeys {
        let key = identity.publicKey
        let (owner, table) =
            isForReading
            ? try read { rows in
                let table = try rows.routerKeys().completed(by: key)
                return (try table.current?.key.hex ?? rows.owner(), table)
            }
            : try writeHere { rows in
                let former = try rows.routerKeys()
                let table = former.completed(by: key)
                if former.next?.key == key { try rows.put(table) }
                return (try rows.claim(for: key.hex), table)
            }
        guard owner == key.hex else { throw RegistryStoreError.anotherIdentity(path: path) }
        return try OwnKeys(table, identity: identity, path: path)
    }

    /// Copies the write-ahead log into the file, so that the file contains the whole registry. Called at the end of an
    /// orderly stop. If the disk refuses, the log stays and no data is lost.
    package func settle() {
        _ = try? watch.writing { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
    }

    /// Runs `body` in one transaction, and `afterwards` once it is on disk and before any other write. In a cluster it
    /// is then in the shared log too, and `body` may run several times.
    package func write<Value>(
        _ body: (RegistryRows) throws -> Value,
        afterwards: (Value) -> Void = { _ in }
    ) throws -> Value {
        guard let replica = replica.withLock(\.self) else { return try writeHere(body, afterwards: afterwards) }
        while true {
            if let value = try write(body, as: replica, afterwards) { return value }
            try catchUp()
        }
    }

    /// Returns nil, without a change, if another member's record came first.
    private func write<Value>(
        _ body: (RegistryRows) throws -> Value,
        as replica: RegistryReplica,
        _ afterwards: (Value) -> Void
    ) throws -> Value? {
        try watch.writing {
            try pool.writeWithoutTransaction { db in
                var value: Value?
                var stored: UInt64?
                try db.inTransaction(.immediate) {
                    let recorder = replica.makeRecorder()
                    let before = db.totalChangesCount
                    let result = try body(RegistryRows(db, recorder))
                    if db.totalChangesCount > before {
                        let rows = RegistryRows(db)
                        let position = try rows.sharedPosition() ?? 0
                        var record = recorder.record
                        record.after = position
                        stored = try replica.log.append(try record.bytes(), id: record.id, after: position)
                        guard let stored else { return .rollback }
                        try rows.setSharedPosition(stored)
                    }
                    value = result
                    return .commit
                }
                if let value { afterwards(value) }
                // After `afterwards`, so that readers of the position find the change in the caches.
                if let stored { replica.note(stored) }
                return value
            }
        }
    }

    /// Replicates all writes to the cluster from now on.
    func join(_ new: RegistryReplica) throws {
        let position = try writeHere { rows -> UInt64 in
            if let position = try rows.sharedPosition() { return position }
            guard try !rows.isUsed() else { throw RegistryStoreError.ofSingleRouter(path: path) }
            try rows.setSharedPosition(0)
            return 0
        }
        new.note(position)
        replica.withLock { $0 = new }
    }

    /// Splits events, in order, into portions that may share a transaction: one portion without a cluster, and in a
    /// cluster up to 64 KiB of JSON each.
    func portions(of events: [Event]) -> [[Event]] {
        guard replica.withLock(\.self) != nil else { return [events] }
        var portions: [[Event]] = []
        var bytes = 0
        for event in events {
            let size = event.json.count
            if portions.isEmpty || bytes + size > 64 << 10 { (portions, bytes) = (portions + [[]], 0) }
            portions[portions.count - 1].append(event)
            bytes += size
        }
        return portions
    }

    var sharedPosition: UInt64 { replica.withLock(\.self)?.position ?? 0 }

    /// Applies the records that other members have written.
    func catchUp() throws {
        guard let replica = replica.withLock(\.self) else { return }
        try catchingUp.withLock { _ in
            while true {
                let records = try replica.log.records(after: replica.position)
                guard !records.isEmpty else { return }
                for (position, bytes) in records { try take(bytes.map(RegistryRecord.init), at: position, replica) }
            }
        }
    }

    /// Applies the record at `position`. It is nil for an entry that no member wrote.
    private func take(_ record: RegistryRecord?, at position: UInt64, _ replica: RegistryReplica) throws {
        let consequences = try watch.writing {
            try pool.writeWithoutTransaction { db -> RegistryReplica.Consequences? in
                var consequences: RegistryReplica.Consequences?
                try db.inTransaction(.immediate) {
                    let rows = RegistryRows(db)
                    let known = try rows.sharedPosition() ?? 0
                    // It may be our own record that arrived in the meantime.
                    guard known < position else { return .commit }
                    try rows.setSharedPosition(position)
                    // This record was appended again or too late: others have taken its position.
                    guard let record, record.after >= known else {
                        consequences = RegistryReplica.Consequences(atOnce: {}, later: {})
                        return .commit
                    }
                    guard record.after == known else { throw RegistryStoreError.missingRecords(after: known) }
                    try rows.repeatStatements(of: record)
                    consequences = try replica.follow(record, rows)
                    return .commit
                }
                guard let consequences else { return nil }
                consequences.atOnce()
                replica.note(position)
                return consequences
            }
        }
        consequences?.later()
    }

    /// Runs `body`, which makes its own transactions, and blocks all other writes.
    func replacing(_ body: (Database) throws -> Void) throws {
        try watch.writing { try pool.writeWithoutTransaction(body) }
    }

    /// Runs `body` in one transaction that is not replicated. `afterwards` runs once it is on disk and before any other
    /// write.
    package func writeHere<Value>(
        _ body: (RegistryRows) throws -> Value,
        afterwards: (Value) -> Void = { _ in }
    ) throws -> Value {
        try watch.writing {
            try pool.writeWithoutTransaction { db in
                var value: Value?
                try db.inTransaction(.immediate) {
                    value = try body(RegistryRows(db))
                    return .commit
                }
                guard let value else { throw StoreError(.notDurable, in: Self.kind, at: path) }
                afterwards(value)
                return value
            }
        }
    }

    /// Runs `body` concurrently with writers, on one consistent state.
    package func read<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try watch.reading { try pool.read { try body(RegistryRows($0)) } }
    }

    /// Runs a single statement concurrently with writers. Cheaper than ``read(_:)``.
    func readOnce<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try watch.reading { try pool.unsafeRead { try body(RegistryRows($0)) } }
    }
}

/// The reason why the content of the registry cannot be used although its database can be opened.
package struct RegistryStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Code: Hashable {
        case anotherIdentity(path: String)
        case unreadableSeal(DeviceID)
        case unreadableEvent
        case unreadableKeys
        case tooManyRoutes
        case unreadableRecord
        case missingRecords(after: UInt64)
        case ahead(of: UInt64)
        case ofSingleRouter(path: String)
    }

    private let code: Code

    private init(_ code: Code) {
        self.code = code
    }

    static func anotherIdentity(path: String) -> RegistryStoreError { RegistryStoreError(.anotherIdentity(path: path)) }
    static func unreadableSeal(_ device: DeviceID) -> RegistryStoreError { RegistryStoreError(.unreadableSeal(device)) }
    static let unreadableEvent = RegistryStoreError(.unreadableEvent)
    static let unreadableKeys = RegistryStoreError(.unreadableKeys)
    static let tooManyRoutes = RegistryStoreError(.tooManyRoutes)
    static let unreadableRecord = RegistryStoreError(.unreadableRecord)
    static func missingRecords(after position: UInt64) -> RegistryStoreError {
        RegistryStoreError(.missingRecords(after: position))
    }
    static func ahead(of position: UInt64) -> RegistryStoreError { RegistryStoreError(.ahead(of: position)) }
    /// Whether the member is so far behind that it must start again from a snapshot.
    package var isCutOff: Bool {
        if case .missingRecords = code { true } else { false }
    }

    static func ofSingleRouter(path: String) -> RegistryStoreError { RegistryStoreError(.ofSingleRouter(path: path)) }

    package var description: String {
        switch code {
        case .anotherIdentity(let path):
            "the registry \(path) belongs to another identity: use the key file it was created with, or start with an empty registry"
        case .unreadableSeal(let device):
            "the registry's secrets of device \(device.rawValue) are damaged: the device has to register again"
        case .unreadableEvent:
            "an event that the registry keeps cannot be read: its author has to publish it again"
        case .unreadableKeys:
            "what the registry is sealed with is damaged: restore a backup"
        case .unreadableRecord:
            "the cluster's registry has a change that this version does not read: update this member"
        case .missingRecords(let position):
            "the cluster no longer has the changes of the registry behind \(position), which this member needs: it was away for too long"
        case .ahead(let position):
            "the cluster's servers have lost changes of the registry, of which this store has \(position): they lost their disks, or have an older backup. The manual's page on scaling explains the recovery"
        case .ofSingleRouter(let path):
            "the registry \(path) has registrations of a single router: a cluster member starts with an empty registry"
        case .tooManyRoutes:
            "the registry holds more combinations of platform and app than it can number"
        }
    }
}
