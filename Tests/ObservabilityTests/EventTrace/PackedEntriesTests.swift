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

/// Trace entries that share a row are found like entries with their own row.
@Suite final class PackedEntriesTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)
    private let folder: URL
    private let path: String
    private let store: TraceStore
    private let account = PublicKey(Bytes32(words: (5, 5, 5, 5)))
    private let queue = QueueName(platform: "ios", app: "default")

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("packed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("store-trace").path
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        store = TraceStore(path: path, now: { PackedEntriesTests.noon }, logger: logger)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func id(_ number: Int) -> EventID { EventID(Bytes32(words: (UInt64(number), 7, 7, 7))) }

    private func name(_ number: Int) -> DeliveryID {
        "0191b0a0-0000-8000-8000-\(String(format: "%012x", number))"
    }

    private func step(
        _ step: PipelineStep,
        of event: Int?,
        _ delivery: DeliveryID,
        device: Int64 = 1,
        _ account: PublicKey? = nil,
        reason: String = "mention"
    ) -> TraceStep {
        TraceStep(
            step: step,
            event: event.map(id),
            account: account ?? self.account,
            device: DeviceID(rawValue: device),
            delivery: delivery,
            reason: reason
        )
    }

    private func report(_ kind: DeliveryReport.Kind, _ delivery: DeliveryID, device: Int64 = 1) -> DeliveryReport {
        DeliveryReport(
            delivery: delivery,
            device: DeviceID(rawValue: device),
            queue: queue,
            kind: kind,
            status: 200,
            reason: "",
            attempt: 1,
            nextDue: kind == .retry ? Self.noon + .seconds(1) : nil
        )
    }

    private func words(_ event: Int, for recipient: PublicKey? = nil) throws -> [String] {
        try TraceReader(path: path).history(of: id(event), for: recipient, since: 0).map { entry in
            switch entry.what {
            case .step(let word): word
            case .report(let report): report.kind
            }
        }
    }

    private var rows: Int {
        get throws {
            let database = try DatabaseQueue(path: path)
            defer { try? database.close() }
            return try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM entries_1") ?? 0 }
        }
    }

    @Test func entryRoundTrips() throws {
        let entries = [
            TraceEntry(step(.waiting, of: 1, "a", device: -7), at: Self.noon),
            TraceEntry(TraceStep(step: .own, event: id(1)), at: Self.noon - .hours(1)),
            TraceEntry(report(.retry, name(3)), at: Self.noon + .days(400)),
            TraceEntry(report(.delivered, name(4)), at: Self.noon),
        ]
        let records = TraceRecords(entries)
        var packed = PackedEntries()
        for (index, row) in ([40, 41, 1_000, 5_000_000] as [Int64]).enumerated() {
            records.withFields(of: index) { packed.append($0, at: records.records[index].time, row: row) }
        }
        #expect(packed.count == 4 && packed.row == 40)
        var read: [(row: Int64, entry: TraceEntry)] = []
        try packed.writer.bytes.withUnsafeBytes { bytes in
            try PackedEntries.read(bytes, count: 4, row: 40, event: id(1)) { read.append(($0, $1)) }
        }
        #expect(read.map(\.row) == [40, 41, 1_000, 5_000_000])
        #expect(read.map(\.entry) == entries)
        // Cut anywhere, it is an error and no trap.
        for length in 0..<packed.writer.bytes.count {
            #expect(throws: BlobError.self) {
                try packed.writer.bytes.prefix(length).withUnsafeBytes { bytes in
                    try PackedEntries.read(bytes, count: 4, row: 40, event: id(1)) { _, _ in }
                }
            }
        }
    }

    @Test func deliveryWithoutAUUIDCannotBeRead() {
        // The number, the time, that there is a delivery, and three bytes of it; a reason and a step, both empty.
        let bytes: [UInt8] = [0, 0, 8, 3, 1, 2, 3, 0, 0]
        #expect(throws: BlobError.invalidValue(field: "delivery", offset: 3)) {
            try bytes.withUnsafeBytes { bytes in
                try PackedEntries.read(bytes, count: 1, row: 1, event: nil) { _, _ in }
            }
        }
    }

    @Test func aPushThatEndsWithinOneWriteIsOneRow() throws {
        for number in 1...20 { store.trace([step(.queued, of: number, name(number))], at: Self.noon) }
        store.deliveriesReported((1...20).map { report(.delivered, name($0)) })
        store.flush()
        #expect(try rows == 20)
        for number in 1...20 { #expect(try words(number) == ["queued", "delivered"]) }
    }

    @Test func crowdIsStoredInFewRowsWhateverTheOutcomes() throws {
        let accounts = (0..<1_000).map { PublicKey(Bytes32(words: (UInt64($0), 2, 2, 2))) }
        store.trace(accounts.enumerated().map { step(.queued, of: 1, name($0), device: Int64($0), $1) }, at: Self.noon)
        store.flush()
        for first in stride(from: 0, to: 1_000, by: 250) {
            store.deliveriesReported((first..<first + 250).map { report(.delivered, name($0), device: Int64($0)) })
            store.flush()
        }
        #expect(try rows == 8)
        #expect(try words(1).count == 2_000)
        #expect(try words(1, for: accounts[7]) == ["queued", "delivered"])
        #expect(try words(1, for: accounts[999]) == ["queued", "delivered"])
        #expect(try words(1, for: account) == [])
        #expect(try TraceReader(path: path).recentEvents(of: accounts[7], limit: 5) == [id(1)])
        #expect(
            try TraceReader(path: path).events(of: [name(3), name(999), name(1_000)]) == [
                name(3): id(1), name(999): id(1),
            ]
        )
    }

    /// All events of a held group learn the result of its push, whether they were held in one write or in several.
    @Test(arguments: [true, false])
    func batchIsFoundFromEachOfItsEvents(isOneWrite: Bool) throws {
        let push = name(1)
        store.trace([step(.held, of: 1, push, reason: "cooldown")], at: Self.noon)
        if !isOneWrite { store.flush() }
        store.trace([step(.batched, of: 2, push, reason: "cooldown")], at: Self.noon)
        if !isOneWrite { store.flush() }
        store.trace(
            [
                step(.released, of: nil, push, reason: "batch of 3"), step(.batched, of: 3, push, reason: ""),
                step(.queued, of: 1, push, reason: "batch of 3"),
            ],
            at: Self.noon
        )
        store.deliveriesReported([report(.delivered, push)])
        store.flush()
        #expect(try words(1) == ["held", "released", "queued", "delivered"])
        #expect(try words(2) == ["batched", "released", "delivered"])
        #expect(try words(3) == ["released", "batched", "delivered"])
    }

    @Test func entriesAfterTheEndAreFound() throws {
        store.trace([step(.queued, of: 1, name(1))], at: Self.noon)
        store.deliveriesReported([report(.retry, name(1)), report(.rejected, name(1))])
        store.flush()
        store.deliveriesReported([report(.requeued, name(1)), report(.delivered, name(1))])
        store.flush()
        #expect(try words(1) == ["queued", "retry", "rejected", "requeued", "delivered"])
    }

    @Test func restartFindsOpenDeliveriesAndContinuesCounting() throws {
        store.trace((0..<600).map { step(.queued, of: 1, name($0), device: Int64($0)) }, at: Self.noon)
        store.close()
        let next = TraceStore(
            path: path,
            now: { PackedEntriesTests.noon },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        next.deliveriesReported((0..<600).map { report(.delivered, name($0), device: Int64($0)) })
        next.flush()
        let words = try words(1)
        #expect(words.prefix(600).allSatisfy { $0 == "queued" } && words.suffix(600).allSatisfy { $0 == "delivered" })
        #expect(words.count == 1_200 && next.shed == 0)
    }

    /// A step queued in one write and completed in the next takes one row, but the wait for the result is short.
    @Test func aStepWaitsForTheEndOfItsPushForAMoment() throws {
        var file = try TraceFile(path: path, limits: TraceLimits())
        func entry(_ number: Int) -> TraceEntry { TraceEntry(step(.queued, of: number, name(number)), at: Self.noon) }
        func end(_ number: Int) -> TraceEntry { TraceEntry(report(.delivered, name(number)), at: Self.noon) }
        let other = TraceEntry(step(.unwanted, of: 1, name(9)), at: Self.noon)
        _ = try file.write(TraceRecords([entry(1), other, entry(2)]), [:], isLast: false, at: Self.noon)
        #expect(file.waiting == 2)
        #expect(try words(1) == ["unwanted"] && words(2) == [])
        _ = try file.write(TraceRecords([end(1)]), [:], isLast: false, at: Self.noon + .milliseconds(100))
        #expect(file.waiting == 1)
        // In the order in which it happened.
        #expect(try words(1) == ["queued", "unwanted", "delivered"] && words(2) == [])
        _ = try file.write(TraceRecords(), [:], isLast: false, at: Self.noon + TraceFile.timeout)
        #expect(file.waiting == 0)
        #expect(try words(2) == ["queued"])
        _ = try file.write(TraceRecords([end(2), entry(3)]), [:], isLast: false, at: Self.noon + .seconds(1))
        #expect(file.waiting == 1)
        #expect(try words(2) == ["queued", "delivered"])
        // A clock that was set back ends the wait, and so does the end of the trace.
        _ = try file.write(TraceRecords([entry(4)]), [:], isLast: false, at: Self.noon)
        #expect(try words(3) == ["queued"] && words(4) == [])
        _ = try file.write(TraceRecords(), [:], isLast: true, at: Self.noon)
        #expect(try words(4) == ["queued"])
        // By rows: the other step, the first push, the second and its end, the third, the fourth.
        #expect(try rows == 6)
        file.close()
        #expect(try TraceFile(path: path, limits: TraceLimits()).waiting == 0)
    }

    @Test func theMemoryOfOpenDeliveriesIsBounded() {
        var open = OpenDeliveries()
        func event(of entry: TraceEntry) -> EventID? { open.event(of: TraceRecords([entry]).records[0]) }
        let first = TraceEntry(step(.queued, of: 1, name(0)), at: Self.noon)
        #expect(event(of: first) == id(1))
        #expect(event(of: TraceEntry(report(.retry, name(0)), at: Self.noon)) == id(1))
        for number in 1...OpenDeliveries.most {
            _ = event(of: TraceEntry(step(.queued, of: 2, name(number)), at: Self.noon))
        }
        #expect(event(of: TraceEntry(report(.delivered, name(0)), at: Self.noon)) == nil)
        let last = report(.delivered, name(OpenDeliveries.most))
        #expect(event(of: TraceEntry(last, at: Self.noon)) == id(2))
        #expect(event(of: TraceEntry(last, at: Self.noon)) == nil)
    }

    /// An entry keeps its fields when it moves to other storage.
    @Test func recordsKeepTheirFieldsWhenTheyMove() throws {
        let entries = [
            TraceEntry(step(.queued, of: 1, name(1)), at: Self.noon),
            TraceEntry(TraceStep(step: .own, event: id(1)), at: Self.noon),
            TraceEntry(report(.delivered, name(3)), at: Self.noon),
        ]
        let write = RecordsOfWrite(former: TraceRecords(entries.prefix(1)), new: TraceRecords(entries.dropFirst()))
        var moved = TraceRecords()
        for index in [2, 0, 1] { write.copy(index, to: &moved) }
        #expect((0..<3).map { moved.records[$0].delivery } == [name(3), name(1), nil])
        #expect((0..<3).map { moved.records[$0].isEnd } == [true, false, false])
        #expect((0..<3).map { moved.records[$0].isWholePush } == [false, true, false])
        for (place, index) in [2, 0, 1].enumerated() {
            var read: [TraceEntry] = []
            var packed = PackedEntries()
            moved.withFields(of: place) { packed.append($0, at: moved.records[place].time, row: 7) }
            try packed.writer.bytes.withUnsafeBytes { bytes in
                try PackedEntries.read(bytes, count: 1, row: 7, event: id(1)) { read.append($1) }
            }
            #expect(read == [entries[index]])
        }
        moved.removeAll()
        #expect(moved.records.isEmpty)
    }
}

extension TraceRecords {
    init(_ entries: some Sequence<TraceEntry>) {
        self.init()
        for entry in entries { append(entry) }
    }
}
