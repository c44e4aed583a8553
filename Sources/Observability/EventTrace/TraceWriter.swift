import Core
import Delivery
import GRDB
import Logging
import Push
import Storage

/// Opens the file of a trace when there is something to write, and handles errors. Belongs to one thread at a time.
struct TraceWriter {
    /// How long a file that cannot be opened is left alone.
    static let pause: Duration = .seconds(10)
    private static let pruneInterval: Duration = .days(1)

    private let path: String
    private let limits: TraceLimits
    private let logger: Logger
    private var file: TraceFile?
    /// The queues that its file says are paused; nil: those of a router before this one, perhaps.
    private var writtenPauses: [QueueName: TracedPause]?
    /// When it may be opened again after an error, and when old devices are looked for.
    private var opensAt = Timestamp.distantPast
    private var prunesAt = Timestamp.distantPast
    private var isInTrouble = false

    init(path: String, limits: TraceLimits, logger: Logger) {
        self.path = path
        self.limits = limits
        self.logger = logger
    }

    /// How many entries wait to be written.
    var waiting: Int { file?.waiting ?? 0 }

    /// How many entries were not written and never will be. All are written if this `isLast`; else some wait for the
    /// next time.
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

    /// Drops entries that have expired by `now`. Makes no file where there is none.
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

    /// Nil after an error, which is logged when it first occurs, and for a pause after one.
    private mutating func attempt<Value>(at now: Timestamp, _ body: (inout TraceWriter) throws -> Value) -> Value? {
        guard file != nil || now >= opensAt || now < opensAt - Self.pause else { return nil }
        let value: Value
        do {
            do {
                value = try body(&self)
            } catch let error as DatabaseError where error.isDamage {
                // Damage is found by using the file; the new one in its place has none.
                moveDamaged(error)
                value = try body(&self)
            }
            if isInTrouble { logger.notice("What becomes of events is kept again", metadata: ["path": "\(path)"]) }
            isInTrouble = false
            return value
        } catch {
            if file == nil { opensAt = now + Self.pause }
            if !isInTrouble {
                let error = TraceError(error, path: path)
                logger.warning("What becomes of events cannot be kept", metadata: ["error": "\(error)"])
            }
            isInTrouble = true
            return nil
        }
    }

    private mutating func withFile<Value>(_ body: (inout TraceFile) throws -> Value) throws -> Value {
        var file = try self.file ?? TraceFile(path: path, limits: limits)
        // The first entry it has may go to a table that is new.
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
            "What was kept of what became of events is damaged; it is put aside and begun anew",
            metadata: ["path": "\(path)", "error": "\(error.message ?? "\(error.extendedResultCode)")"]
        )
        close()
        TraceSchema.file(at: path).moveDamaged()
    }
}
