import Core
import Delivery
import GRDB
import Logging
import Push
import Storage

/// Opens a trace's file on demand, and handles its errors. Belongs to one thread at a time.
struct TraceWriter {
    /// The delay before another try to open the file.
    static let pause: Duration = .seconds(10)
    private static let pruneInterval: Duration = .days(1)

    private let path: String
    private let limits: TraceLimits
    private let logger: Logger
    private var file: TraceFile?
    /// The pauses in the file; nil: unknown, perhaps those of an earlier router.
    private var writtenPauses: [QueueName: TracedPause]?
    /// When it may be opened again after an error, and when old devices are next removed.
    private var opensAt = Timestamp.distantPast
    private var prunesAt = Timestamp.distantPast
    private var isInTrouble = false

    init(path: String, limits: TraceLimits, logger: Logger) {
        self.path = path
        self.limits = limits
        self.logger = logger
    }

    /// The number of entries that wait to be written.
    var waiting: Int { file?.waiting ?? 0 }

    /// Returns the number of lost entries. All are written if this `isLast`; otherwise some wait for the next write.
    mutating func write(
        _ entries: TraceRecords,
        _ devices: [DeviceID: DeviceStatus],
        _ pauses: [QueueName: TracedPause],
        isLast: Bool,
        at now: Timestamp
    ) -> Int {
        let waited = waiting
        let lost = attempt(at: now) { writer in
            let isNews = pauses != writer.writtenPauses
            let lost = try writer.withFile { file in
                let pauses = isNews ? Array(pauses.values) : nil
                return try file.write(entries, devices, pauses: pauses, isLast: isLast, at: now)
            }
            writer.writtenPauses = pauses
            try writer.prune(at: now)
            return lost
        }
        return lost ?? entries.records.count + waited
    }

    /// Drops entries that have expired by `now`. Does not create the file.
    mutating func dropExpired(at now: Timestamp) {
        guard file != nil || TraceSchema.file(at: path).exists else { return }
        _ = attempt(at: now) { writer in
            try writer.withFile { try $0.dropExpired(at: now) }
            try writer.prune(at: now)
        }
    }

    mutating func close() {
        file?.close()
        file = nil
        writtenPauses = nil
    }

    /// Runs `body`. Returns nil after an error, which is logged when it first occurs, and during the delay after one.
    private mutating func attempt<Value>(at now: Timestamp, _ body: (inout TraceWriter) throws -> Value) -> Value? {
        guard file != nil || now >= opensAt || now < opensAt - Self.pause else { return nil }
        let value: Value
        do {
            do {
                value = try body(&self)
            } catch let error as DatabaseError where error.isDamage {
                // Damage shows only in use; the new file has none.
                moveDamaged(error)
                value = try body(&self)
            }
            if isInTrouble { logger.notice("Writing the event trace resumed", metadata: ["path": "\(path)"]) }
            isInTrouble = false
            return value
        } catch {
            if file == nil { opensAt = now + Self.pause }
            if !isInTrouble {
                let error = TraceError(error, path: path)
                logger.warning("Failed to write the event trace", metadata: ["error": "\(error)"])
            }
            isInTrouble = true
            return nil
        }
    }

    private mutating func withFile<Value>(_ body: (inout TraceFile) throws -> Value) throws -> Value {
        var file = try self.file ?? TraceFile(path: path, limits: limits)
        // Its first entry may go to a new table.
        defer { self.file = file }
        return try body(&file)
    }

    private mutating func prune(at now: Timestamp) throws {
        guard now >= prunesAt || now < prunesAt - Self.pruneInterval else { return }
        try withFile { try $0.forgetDevices(at: now) }
        prunesAt = now + Self.pruneInterval
    }

    private mutating func moveDamaged(_ error: DatabaseError) {
        logger.warning(
            "The event trace is damaged; moved it aside and started a new one",
            metadata: ["path": "\(path)", "error": "\(error.message ?? "\(error.extendedResultCode)")"]
        )
        close()
        TraceSchema.file(at: path).moveDamaged()
    }
}
