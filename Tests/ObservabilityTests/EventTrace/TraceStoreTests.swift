import Cipher
import Core
import Delivery
import DeliveryTestSupport
import Foundation
import GRDB
import Logging
import Nostr
import Pipeline
import Push
import Testing
import TimeTestSupport

@testable import Observability

@Suite final class TraceStoreTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)
    private let folder: URL
    private let path: String
    private let clock = ManualClock(TraceStoreTests.noon)
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private let account = PublicKey(Bytes32(words: (5, 5, 5, 5)))
    private let queue = QueueName(platform: "ios", app: "default")

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "trace-" + Hex.encode(SecureRandom.bytes(8))
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("store-trace").path
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func id(_ number: Int) -> EventID { EventID(Bytes32(words: (UInt64(number), 7, 7, 7))) }

    private func device(_ number: Int64) -> DeviceID { DeviceID(rawValue: number) }

    private func store(_ limits: TraceLimits = TraceLimits()) -> TraceStore {
        TraceStore(path: path, limits: limits, now: clock.now, logger: logger)
    }

    private func step(
        _ step: PipelineStep,
        _ number: Int = 1,
        device: Int64? = nil,
        delivery: DeliveryID? = nil,
        reason: String = ""
    ) -> TraceStep {
        TraceStep(
            step: step,
            event: id(number),
            account: account,
            device: device.map { self.device($0) },
            delivery: delivery,
            reason: reason
        )
    }

    private func report(
        _ kind: DeliveryReport.Kind,
        _ delivery: DeliveryID,
        device: Int64 = 1,
        status: UInt32 = 200,
        reason: String = "",
        nextDue: Timestamp? = nil
    ) -> DeliveryReport {
        DeliveryReport(
            delivery: delivery,
            device: self.device(device),
            queue: queue,
            kind: kind,
            status: status,
            reason: reason,
            attempt: 1,
            nextDue: nextDue
        )
    }

    private var words: [String] {
        get throws {
            try TraceReader(path: path).history(of: id(1), since: 0).map { entry in
                switch entry.what {
                case .step(let word): word
                case .report(let report): report.kind
                }
            }
        }
    }

    @Test func anEventsStepsAndItsDeliveriesReportsComeInTheirOrder() throws {
        let store = store()
        let delivery: DeliveryID = "0191b0a0-0000-8000-8000-0123456789ab"
        store.trace([step(.waiting), step(.unmatched, 2)], at: Self.noon)
        store.trace(
            [step(.queued, device: 1, delivery: delivery, reason: "reply"), step(.unwanted, device: 2)],
            at: Self.noon + .milliseconds(5)
        )
        store.deliveriesReported([
            report(.retry, delivery, status: 503, reason: "busy", nextDue: Self.noon + .milliseconds(900)),
            report(.delivered, "another"),
        ])
        store.flush()
        clock.advance(by: .minutes(1))
        store.deliveriesReported([report(.delivered, delivery)])
        store.flush()

        #expect(try words == ["waiting", "queued", "unwanted", "retry", "delivered"])
        let history = try TraceReader(path: path).history(of: id(1), since: 0)
        #expect(history[1].account == account && history[1].device == device(1) && history[1].delivery == delivery)
        #expect(history[1].time == Self.noon + .milliseconds(5) && history[1].reason == "reply")
        #expect(history[4].time == Self.noon + .minutes(1) && history[4].delivery == delivery)
        guard case .report(let retry) = history[3].what else {
            Issue.record("expected a report")
            return
        }
        #expect(retry.queue == queue && retry.status == 503 && retry.nextDue == Self.noon + .milliseconds(900))
        #expect(try TraceReader(path: path).history(of: id(1), since: Self.noon + .milliseconds(6)).count == 1)
        #expect(try TraceReader(path: path).history(of: id(9), since: 0).isEmpty)
        #expect(store.shed == 0)
    }

    @Test func joinedPushIsFollowedToItsEnd() throws {
        func group(_ step: PipelineStep, _ delivery: DeliveryID, into whole: DeliveryID? = nil) -> TraceStep {
            TraceStep(
                step: step,
                event: nil,
                account: account,
                device: device(1),
                delivery: delivery,
                reason: whole?.description ?? ""
            )
        }
        let store = store()
        let push: DeliveryID = "0191b0a0-0000-8000-8000-0123456789ab"
        store.trace([step(.held, device: 1, delivery: "c"), step(.held, 2, device: 1, delivery: push)], at: Self.noon)
        store.trace([group(.joined, "c", into: "b")], at: Self.noon + .milliseconds(1))
        store.trace([group(.released, push), group(.joined, "b", into: push)], at: Self.noon + .milliseconds(2))
        // A cycle of groups is invalid, and following it must end.
        store.trace([group(.joined, push, into: "c")], at: Self.noon + .milliseconds(2))
        store.deliveriesReported([report(.delivered, push), report(.delivered, "another")])
        store.flush()
        #expect(try words == ["held", "joined", "released", "joined", "joined", "delivered"])
        let history = try TraceReader(path: path).history(of: id(1), since: 0)
        #expect(history.map(\.joinedDelivery) == [nil, "b", nil, push, "c", nil])
    }

    @Test func recipientsStepsAreFoundAmongManyOthers() throws {
        let store = store()
        let others = (0..<12_000).map { number in
            TraceStep(step: .unmatched, event: id(1), account: PublicKey(Bytes32(words: (UInt64(number), 8, 8, 8))))
        }
        store.trace(others + [step(.own)], at: Self.noon)
        store.trace([TraceStep(step: .notKept, event: id(1))], at: Self.noon)
        store.flush()
        #expect(try TraceReader(path: path).history(of: id(1), since: 0).count == 10_000)
        let own = try TraceReader(path: path).history(of: id(1), for: account, since: 0)
        #expect(own.map(\.what) == [.step("own"), .step("not-kept")])
    }

    @Test func writtenStepsSurviveARestart() throws {
        let first = store()
        first.trace([step(.own)], at: Self.noon)
        first.close()
        first.trace([step(.forged)], at: Self.noon)
        let second = store()
        second.trace([step(.expired)], at: Self.noon)
        second.close()
        #expect(try words == ["own", "expired"])
        #expect(try TraceReader(path: path).beginning() == Self.noon)
    }

    @Test func readerWorksNextToTheWriter() throws {
        let store = store()
        store.trace([step(.own)], at: Self.noon)
        store.flush()
        #expect(try words == ["own"])
        store.trace([step(.expired)], at: Self.noon)
        store.flush()
        #expect(try words == ["own", "expired"])
    }

    @Test func onlyThisUserMayReadIt() throws {
        let store = store()
        store.trace([step(.own)], at: Self.noon)
        store.flush()
        for end in ["", "-wal"] {
            let mode = try FileManager.default.attributesOfItem(atPath: path + end)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func itsFileStaysAsLargeAsItsRows() throws {
        let store = store(TraceLimits(rows: 1_000, days: 7))
        for round in 0..<30 {
            store.trace((0..<200).map { step(.own, 10 + round * 200 + $0) }, at: Self.noon)
            store.flush()
            // Groups larger than a segment are parted.
            store.trace([step(.own, 1)], at: Self.noon)
        }
        store.close()
        let queue = try DatabaseQueue(path: path)
        let tables = try queue.read { db in
            try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE name LIKE 'entries%'")
        }
        let rows = try queue.read { db in
            try tables.reduce(0) { try $0 + (Int.fetchOne(db, sql: "SELECT sum(count) FROM \($1)") ?? 0) }
        }
        #expect(tables.count <= 11 && (900...1_000).contains(rows))
        #expect(try words.count <= 10 && store.shed == 0)
    }

    @Test func entriesOlderThanTheirDaysAreDropped() throws {
        let store = store(TraceLimits(rows: 1_000, days: 7))
        for day in 0..<20 {
            store.trace([step(.own, day)], at: clock.now())
            store.flush()
            clock.advance(by: .days(1))
        }
        let reader = TraceReader(path: path)
        #expect(try reader.history(of: id(12), since: 0).isEmpty)
        #expect(try !reader.history(of: id(13), since: 0).isEmpty)
        #expect(try reader.beginning() == Self.noon + .days(13))
    }

    @Test func devicesPushResultsAreStored() throws {
        let store = store()
        store.deliveriesReported([report(.delivered, "a"), report(.delivered, "b", device: 2)])
        store.flush()
        clock.advance(by: .seconds(1))
        store.deliveriesReported([report(.reduced, "c"), report(.gone, "c", status: 410, reason: "Unregistered")])
        store.flush()
        let statuses = try TraceReader(path: path).statuses(of: [device(1), device(2), device(3)])
        #expect(statuses.count == 2 && statuses[device(2)]?.lastFailure == nil)
        #expect(statuses[device(1)]?.lastSuccess == DeviceStatus.Success(at: Self.noon, status: 200))
        #expect(
            statuses[device(1)]?.lastFailure
                == DeviceStatus.FailedPush(
                    at: Self.noon + .seconds(1),
                    kind: "gone",
                    status: 410,
                    reason: "Unregistered"
                )
        )
    }

    @Test func pausedQueuesAreStoredWithTheirStart() throws {
        func pause(_ seconds: Int64, reason: String = "InvalidProviderToken") -> QueuePause {
            QueuePause(queue: queue, until: clock.now() + .seconds(seconds), reason: reason)
        }
        let reader = TraceReader(path: path)
        let store = store()
        store.queuePaused(pause(30))
        store.flush()
        clock.advance(by: .seconds(30))
        let second = pause(60)
        store.queuePaused(second)
        store.flush()
        #expect(try reader.pauses() == [queue: TracedPause(second, since: Self.noon)])
        let other = pause(60, reason: "no-transport")
        store.queuePaused(other)
        store.flush()
        #expect(try reader.pauses() == [queue: TracedPause(other, since: Self.noon + .seconds(30))])
        store.trace([step(.own)], at: Self.noon)
        store.flush()
        #expect(try reader.pauses().count == 1)
        store.queueResumed(queue)
        store.flush()
        #expect(try reader.pauses().isEmpty)
        store.queuePaused(second)
        store.close()
        #expect(try reader.pauses().count == 1)
        // A pause ends with the router that set it.
        let next = self.store()
        next.trace([step(.own)], at: Self.noon)
        next.flush()
        #expect(try reader.pauses().isEmpty)
    }

    @Test func inactiveDevicesAreForgotten() throws {
        let store = store()
        store.deliveriesReported([report(.delivered, "a")])
        store.flush()
        clock.advance(by: .days(91))
        store.deliveriesReported([report(.delivered, "b", device: 2)])
        store.flush()
        #expect(try TraceReader(path: path).statuses(of: [device(1), device(2)]).keys.map(\.rawValue) == [2])
    }

    /// The tables in the file, including those that readers do not see.
    private var tables: [String] {
        get throws {
            let database = try DatabaseQueue(path: path)
            defer { try? database.close() }
            return try database.read {
                try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE name LIKE 'entries%' ORDER BY name")
            }
        }
    }

    private func exists(_ end: String = "") -> Bool { FileManager.default.fileExists(atPath: path + end) }

    @Test func expiredEntriesLeaveTheDiskWithoutANewEntry() async throws {
        let store = store(TraceLimits(rows: 1_000, days: 1))
        store.trace([step(.own)], at: Self.noon)
        store.deliveriesReported([report(.delivered, "a")])
        store.flush()
        // Immediately, and after 23 hours, 46 hours and three months.
        var looks = [false, false, true, true]
        await store.dropExpired {
            let isGone = looks.removeFirst()
            #expect(try self.tables == (isGone ? [] : ["entries_1"]))
            guard !looks.isEmpty else { throw CancellationError() }
            self.clock.advance(by: looks.count == 1 ? .days(92) : .hours(23))
        }
        #expect(try TraceReader(path: path).beginning() == nil)
        #expect(try TraceReader(path: path).statuses(of: [device(1)]).isEmpty)
        store.trace([step(.own)], at: clock.now())
        store.flush()
        #expect(try words == ["own"] && store.shed == 0)
    }

    @Test func entriesExpiredBeforeAStartAreDroppedAtTheStart() async throws {
        let first = store()
        first.trace([step(.own)], at: Self.noon)
        first.close()
        clock.advance(by: .days(8))
        let second = store()
        await second.dropExpired { throw CancellationError() }
        #expect(try tables.isEmpty && second.shed == 0)
    }

    @Test func expiryCheckCreatesNoFile() async {
        let store = store()
        await store.dropExpired { throw CancellationError() }
        #expect(!exists())
    }

    @Test func closedTraceIsNotChanged() async throws {
        let store = store()
        store.trace([step(.own)], at: Self.noon)
        store.close()
        clock.advance(by: .days(8))
        await store.dropExpired { throw CancellationError() }
        #expect(try tables == ["entries_1"])
    }

    @Test func damageFoundDuringTheExpiryCheckIsRepaired() async throws {
        try Data(repeating: 0x55, count: 8_192).write(to: URL(fileURLWithPath: path))
        let store = store()
        await store.dropExpired { throw CancellationError() }
        #expect(try tables.isEmpty && exists(".damaged"))
        store.trace([step(.own)], at: Self.noon)
        store.flush()
        #expect(try words == ["own"] && store.shed == 0)
    }

    @Test func discardedTraceLeavesNoFiles() throws {
        try Data("damaged".utf8).write(to: URL(fileURLWithPath: path + ".damaged"))
        let store = store()
        store.trace([step(.own)], at: Self.noon)
        store.flush()
        // The state that a killed router leaves.
        #expect(exists("-wal"))
        TraceStore.discard(path: path, logger: logger)
        for end in ["", "-wal", "-shm", ".damaged"] { #expect(!exists(end)) }
        #expect(throws: TraceError.missing(path)) { try TraceReader(path: path).beginning() }
        TraceStore.discard(path: path, logger: logger)
        #expect(!exists())
    }

    @Test(arguments: [0, 8_192])
    func fileThatIsNotADatabaseIsDiscarded(size: Int) throws {
        try Data(repeating: 0x55, count: size).write(to: URL(fileURLWithPath: path))
        TraceStore.discard(path: path, logger: logger)
        #expect(!exists())
    }

    @Test func foreignDatabaseIsNotDiscarded() throws {
        let other = try DatabaseQueue(path: path)
        try other.write { try $0.execute(sql: "CREATE TABLE treasure (gold)") }
        try other.close()
        TraceStore.discard(path: path, logger: logger)
        #expect(throws: TraceError.foreign(path)) { try TraceReader(path: path).beginning() }
    }

    @Test func damagedFileIsPutAsideAndRecreated() throws {
        let garbage = Data("this is no database, but long enough to look like one".utf8)
        try (garbage + Data(count: 8_192)).write(to: URL(fileURLWithPath: path))
        let store = store()
        store.trace([step(.own)], at: Self.noon)
        store.flush()
        #expect(try words == ["own"] && store.shed == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged")).starts(with: garbage))
    }

    @Test func damageWhileRunningIsFoundAndRepaired() throws {
        let first = store()
        for round in 0..<50 { first.trace((0..<50).map { step(.own, 10 + round * 50 + $0) }, at: Self.noon) }
        first.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let size = try file.seekToEnd()
        for page in stride(from: UInt64(4_096), to: size, by: 4_096) {
            try file.seek(toOffset: page)
            try file.write(contentsOf: Data(repeating: 0xFF, count: 4_096))
        }
        try file.close()
        let second = store()
        second.trace([step(.own)], at: Self.noon)
        second.close()
        #expect(try words == ["own"] && second.shed == 0)
        #expect(FileManager.default.fileExists(atPath: path + ".damaged"))
    }

    @Test func foreignDatabaseIsNotChanged() throws {
        let other = try DatabaseQueue(path: path)
        try other.write { try $0.execute(sql: "CREATE TABLE treasure (gold); INSERT INTO treasure VALUES (1)") }
        try other.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let store = store()
        store.trace([step(.own)], at: Self.noon)
        store.flush()
        #expect(store.shed == 1)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(throws: TraceError.foreign(path)) { try TraceReader(path: path).beginning() }
    }

    @Test func failingDiskLosesOnlyTheTrace() throws {
        let missing = folder.appendingPathComponent("missing/store-trace").path
        let store = TraceStore(path: missing, now: clock.now, logger: logger)
        store.trace([step(.own), step(.own, 2)], at: Self.noon)
        store.flush()
        #expect(store.shed == 2)
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("missing"),
            withIntermediateDirectories: true
        )
        // The store is not touched for a while, and then tried again.
        store.trace([step(.own, 3)], at: Self.noon)
        store.flush()
        #expect(store.shed == 3)
        clock.advance(by: TraceWriter.pause)
        store.trace([step(.own, 4)], at: Self.noon)
        store.flush()
        #expect(store.shed == 3)
        #expect(try TraceReader(path: missing).history(of: id(4), since: 0).count == 1)
    }

    @Test func fullDiskLosesOnlyNewEntries() throws {
        var limits = TraceLimits()
        limits.rows = 100_000
        let first = store(limits)
        first.trace([step(.own)], at: Self.noon)
        first.close()
        var file = try TraceFile(path: path, limits: limits)
        try file.refuseToGrow()
        let many = (0..<5_000).map { TraceEntry(step(.own, $0 + 10), at: Self.noon) }
        #expect(throws: DatabaseError.self) { _ = try file.write(TraceRecords(many), [:], at: Self.noon) }
        #expect(try words == ["own"])
        _ = try file.write(TraceRecords([TraceEntry(step(.expired), at: Self.noon)]), [:], at: Self.noon)
        #expect(try words == ["own", "expired"])
    }

    @Test func entriesBeyondTheLimitAreLostAndCounted() throws {
        let store = store()
        let many = (0..<TraceStore.pendingLimit).map { number in
            var step = step(.own, number + 10)
            step.account = PublicKey(Bytes32(words: (UInt64(number), 1, 1, 1)))
            return step
        }
        // Blocks the store's queue, so that it writes only after all steps are queued.
        store.holding {
            store.trace(many, at: Self.noon)
            store.trace([step(.own)], at: Self.noon)
        }
        store.flush()
        #expect(store.shed == 1)
        #expect(try TraceReader(path: path).history(of: id(10), since: 0).count == 1)
    }

    @Test func oneAccountCannotFillThePendingEntries() throws {
        let store = store()
        store.holding {
            store.trace((0..<2 * TraceStore.pendingLimit).map { step(.own, $0 + 10) }, at: Self.noon)
            var other = step(.own)
            other.account = PublicKey(Bytes32(words: (9, 9, 9, 9)))
            store.trace([other], at: Self.noon)
        }
        store.flush()
        #expect(try words == ["own"])
        #expect(store.shed == 2 * TraceStore.pendingLimit - TraceStore.pendingLimit / 2)
    }

    /// Even 1,500 events for 32 devices of one account evict no other account's events from the trace.
    @Test func oneAccountCannotEvictOthers() throws {
        let store = store(TraceLimits(rows: 10_000, days: 7))
        var honest = step(.queued, device: 99, delivery: "0191b0a0-0000-8000-8000-0123456789ab", reason: "reply")
        honest.account = PublicKey(Bytes32(words: (9, 9, 9, 9)))
        store.trace([honest], at: Self.noon)
        for round in 0..<60 {
            let first = 10 + 500 * round
            store.trace((first..<first + 500).map { step(.queued, $0, device: 1 + Int64($0 % 32)) }, at: Self.noon)
            store.deliveriesReported((0..<500).map { report(.rejected, "d\(first + $0)", device: 1 + Int64($0 % 32)) })
            store.flush()
        }
        store.deliveriesReported([report(.delivered, "0191b0a0-0000-8000-8000-0123456789ab", device: 99)])
        store.flush()
        #expect(try words == ["queued", "delivered"])
        // The latest events of the large account are kept, up to the capacity.
        #expect(try TraceReader(path: path).history(of: id(10 + 500 * 60 - 1), since: 0).count == 1)
        #expect(store.shed == 0)
    }

    @Test func entriesCausedByStrangersTakeATenth() throws {
        let store = store(TraceLimits(rows: 1_000, days: 7))
        store.trace([step(.own)], at: Self.noon)
        for round in 0..<20 {
            store.trace((0..<10).map { step(.forged, 10 + round * 10 + $0) }, at: Self.noon)
            store.flush()
        }
        #expect(try words == ["own"] && store.shed == 190)
        #expect(try TraceReader(path: path).history(of: id(19), since: 0).count == 1)
        #expect(try TraceReader(path: path).history(of: id(20), since: 0).isEmpty)
    }

    @Test func reasonsAreOneShortPrintableLine() throws {
        let store = store()
        let long = "a\nb\u{1B}[31m\u{0} " + String(repeating: "ü", count: 500)
        store.trace([step(.dropped, reason: long)], at: Self.noon)
        store.flush()
        let reason = try #require(try TraceReader(path: path).history(of: id(1), since: 0).first?.reason)
        #expect(reason.hasPrefix("ab[31m ü") && reason.utf8.count <= 200)
    }

    @Test func missingTraceIsReported() {
        #expect(throws: TraceError.missing(path)) { try TraceReader(path: path).history(of: id(1), since: 0) }
    }
}

@Suite struct PendingStatusesTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private var statuses = PendingStatuses()

    private mutating func deliver(_ number: Int64, at time: Timestamp, _ kind: DeliveryReport.Kind = .delivered) {
        statuses.take(DeviceID(rawValue: number), kind, status: 200, reason: "word", at: time, limit: 3)
    }

    private func numbers(_ due: [DeviceID: DeviceStatus]) -> [Int64] { due.keys.map(\.rawValue).sorted() }

    @Test mutating func writesADeviceOnceASecond() {
        deliver(1, at: Self.start)
        #expect(numbers(statuses.takeDue(at: Self.start, all: false)) == [1])
        let later = Self.start + .milliseconds(500)
        deliver(1, at: later)
        #expect(statuses.takeDue(at: later, all: false).isEmpty && statuses.statuses.count == 1)
        #expect(statuses.due == Self.start + .seconds(1))
        let end = Self.start + .seconds(1)
        let due = statuses.takeDue(at: end, all: false)
        #expect(due[DeviceID(rawValue: 1)]?.lastSuccess?.at == later)
        #expect(statuses.statuses.isEmpty && statuses.due == nil)
        // That row counts for the next second.
        deliver(1, at: end + .milliseconds(100))
        #expect(statuses.takeDue(at: end + .milliseconds(900), all: false).isEmpty)
    }

    @Test mutating func delayedStatusIncludesLaterReports() {
        deliver(1, at: Self.start)
        _ = statuses.takeDue(at: Self.start, all: false)
        let (success, failure) = (Self.start + .milliseconds(100), Self.start + .milliseconds(200))
        deliver(1, at: success)
        deliver(1, at: failure, .retry)
        deliver(1, at: failure + .milliseconds(1), .postponed)
        let due = statuses.takeDue(at: Self.start + .seconds(2), all: false)[DeviceID(rawValue: 1)]
        #expect(due?.lastSuccess?.at == success && due?.lastFailure?.at == failure)
    }

    /// An operator who looks at a device after its first push finds it, even while other devices get many pushes.
    @Test mutating func firstStatusOfADeviceIsWrittenImmediately() {
        deliver(1, at: Self.start)
        _ = statuses.takeDue(at: Self.start, all: false)
        let later = Self.start + .milliseconds(300)
        deliver(1, at: later)
        deliver(2, at: later)
        #expect(numbers(statuses.takeDue(at: later, all: false)) == [2])
        deliver(2, at: later)
        #expect(numbers(statuses.takeDue(at: Self.start + .seconds(1), all: false)) == [1, 2])
    }

    @Test mutating func closeWritesAllStatuses() {
        deliver(1, at: Self.start)
        _ = statuses.takeDue(at: Self.start, all: false)
        deliver(1, at: Self.start)
        #expect(numbers(statuses.takeDue(at: Self.start, all: true)) == [1])
        #expect(statuses.takeDue(at: Self.start + .seconds(5), all: true).isEmpty)
    }

    @Test mutating func aClockThatWasSetBackEndsTheWait() {
        deliver(1, at: Self.start)
        _ = statuses.takeDue(at: Self.start, all: false)
        deliver(1, at: Self.start)
        #expect(numbers(statuses.takeDue(at: Self.start - .hours(1), all: false)) == [1])
    }

    @Test mutating func waitingStatusesAreBounded() {
        for number in 1...5 as ClosedRange<Int64> { deliver(number, at: Self.start) }
        let later = Self.start + .milliseconds(1)
        deliver(2, at: later)
        let due = statuses.takeDue(at: later, all: false)
        #expect(numbers(due) == [1, 2, 3] && due[DeviceID(rawValue: 2)]?.lastSuccess?.at == later)
    }
}
