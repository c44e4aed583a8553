import Delivery
import RouterConfiguration

@testable import Cluster

/// A cluster's streams and buckets with JetStream's behavior: conditions, ids of messages, sequences. It judges the
/// records that it accepts.
final class SimulatedStorage {
    private struct Log {
        var records: [LogAnswer.Record] = []
        var last: UInt64 = 0
        var identity = LogRecord.Identity.none
        var removed: Set<Int64> = []
    }

    private let bug: PlantedBug
    /// JetStream with replicas checks ids first, a single server the condition.
    private let looksAtIDsFirst: Bool
    private var logs: [Log]
    private var logSequence: UInt64 = 0
    private var known: [String: UInt64] = [:]
    private var partSequence: UInt64 = 0
    private var parts: [Int: [(sequence: UInt64, name: String, bytes: [UInt8])]] = [:]
    private var heads: [Int: (head: SnapshotHead, revision: UInt64)] = [:]
    private var revision: UInt64 = 0
    private(set) var leases: [Int: (record: LeaseRecord, revision: UInt64)] = [:]
    private(set) var members: [MemberName: (record: MemberRecord, revision: UInt64)] = [:]
    private(set) var violation: String?
    private(set) var appends = 0
    private(set) var refusedAppends = 0
    private(set) var snapshots = 0

    init(partitions: Int, looksAtIDsFirst: Bool, bug: PlantedBug) {
        self.bug = bug
        self.looksAtIDsFirst = looksAtIDsFirst
        logs = Array(repeating: Log(), count: partitions)
    }

    // MARK: Leases

    func put(_ record: MemberRecord) -> UInt64 {
        revision += 1
        members[record.name] = (record, revision)
        return revision
    }

    func put(_ record: LeaseRecord, at partition: Int, over expected: UInt64) -> LeaseTable.WriteResult {
        guard leases[partition]?.revision ?? 0 == expected else { return .conflict }
        revision += 1
        leases[partition] = (record, revision)
        return .stored(revision: revision)
    }

    // MARK: Logs

    func answer(_ question: LogQuestion, _ partition: Int) -> LogAnswer {
        switch question {
        case .head:
            return .head(heads[partition]?.head, revision: heads[partition]?.revision ?? 0)
        case .part(let name, let index):
            return .part(parts[partition]?.last { $0.name == "\(name).\(index)" }?.bytes)
        case .records(let after):
            let records = logs[partition].records.filter { $0.sequence > after }
            return .records(Array(records.prefix(3)), isLast: records.count <= 3)
        case .append(let bytes, let messageID, let expected):
            return append(bytes, messageID, expected, partition)
        case .storePart(let name, let index, let bytes):
            partSequence += 1
            parts[partition, default: []].append((partSequence, "\(name).\(index)", bytes))
            return .stored(sequence: partSequence)
        case .storeHead(let head, let over):
            guard bug == .unconditionalHead || heads[partition]?.revision ?? 0 == over else { return .conflict }
            revision += 1
            snapshots += 1
            heads[partition] = (head, revision)
            return .stored(sequence: revision)
        case .purge(let log, let snapshots):
            let last = logs[partition].records.last?.sequence
            logs[partition].records.removeAll { $0.sequence < log && $0.sequence != last }
            parts[partition]?.removeAll { $0.sequence < snapshots }
            return .done
        }
    }

    private func append(_ bytes: [UInt8], _ messageID: String, _ expected: UInt64, _ partition: Int) -> LogAnswer {
        if looksAtIDsFirst, let sequence = known[messageID] { return .stored(sequence: sequence) }
        guard bug == .noFence || logs[partition].last == expected else {
            refusedAppends += 1
            return .conflict
        }
        if let sequence = known[messageID] { return .stored(sequence: sequence) }
        logSequence += 1
        appends += 1
        known[messageID] = logSequence
        logs[partition].last = logSequence
        logs[partition].records.append(LogAnswer.Record(sequence: logSequence, bytes: bytes))
        judge(bytes, partition)
        return .stored(sequence: logSequence)
    }

    /// A client that is not a member writes to the log: garbage, or a copy of an existing record.
    func intrude(_ partition: Int, repeating number: Int? = nil) {
        let records = logs[partition].records
        logSequence += 1
        logs[partition].last = logSequence
        let bytes = number.flatMap { records.indices.contains($0) ? records[$0].bytes : nil }
        logs[partition].records.append(LogAnswer.Record(sequence: logSequence, bytes: bytes))
    }

    /// Checks that no append follows one of a later epoch, and that none is missing.
    private func judge(_ bytes: [UInt8], _ partition: Int) {
        guard let record = try? LogRecord(bytes) else { return note("an unreadable record in \(partition)") }
        let (last, new) = (logs[partition].identity, record.identity)
        let follows =
            new.index == 0
            ? new.epoch == last.epoch + 1
            : new.epoch == last.epoch && new.author == last.author && new.index == last.index + 1
        if !follows { note("\(new) was accepted behind \(last) in \(partition)") }
        logs[partition].identity = new
        guard case .transactions(let transactions, _) = record.body else { return }
        logs[partition].removed.formUnion(transactions.flatMap(\.changes.removals).map(\.sequence))
    }

    func epoch(of partition: Int) -> UInt64 { logs[partition].identity.epoch }

    func isRemoved(_ delivery: Int64, from partition: Int) -> Bool { logs[partition].removed.contains(delivery) }

    func note(_ violation: String) { self.violation = self.violation ?? violation }

    /// Returns the state of a member that reads the whole log again.
    func rebuilt(_ partition: Int) -> PartitionState? {
        var state = PartitionState()
        var after: UInt64 = 0
        if let head = heads[partition]?.head {
            let bytes = (0..<head.parts).flatMap { index -> [UInt8] in
                if case .part(let part?) = answer(.part(name: head.name, index: index), partition) { part } else { [] }
            }
            guard let read = try? PartitionState(snapshot: bytes) else { return nil }
            (state, after) = (read, head.sequence)
        }
        for record in logs[partition].records where record.sequence > after {
            guard let bytes = record.bytes else { continue }
            guard let record = try? LogRecord(bytes), (try? state.apply(record)) != nil else { return nil }
        }
        return state
    }
}

/// The bugs that the simulation must find, to show that it would find them in the code.
enum PlantedBug: CaseIterable {
    case none
    /// Appends are accepted without their condition.
    case noFence
    /// An owner trusts its lease for longer than others wait.
    case longValidity
    /// Heads are replaced without their condition.
    case unconditionalHead
    /// Events are answered before the append is acknowledged.
    case earlyAnswer
    /// The reader of a relay records its position before the owner has responded.
    case earlyMark
    /// The reader of a deletion informs only the current owner.
    case deletionToOneOwner
}
