import Core
import Foundation
import RouterConfiguration

/// The record of a transfer between a router's store and a cluster. No member may start until it is complete.
struct TransferRecord: Hashable, Sendable, Codable {
    enum Kind: String, Codable, Sendable {
        case adopt
        case export
    }

    var version = 1
    var kind: Kind
    /// The transfer's ID. Only the router with this ID in its store may continue it.
    var id: String
    var isDone = false

    /// The reason why no member may start; nil: members may start.
    var blocker: ClusterError? {
        switch (kind, isDone) {
        case (.adopt, true): nil
        case (.adopt, false): .beingAdopted
        case (.export, false): .beingExported
        case (.export, true): .exported
        }
    }
}

/// Why a transfer failed.
enum TransferError: Error, Hashable, CustomStringConvertible {
    case notEmpty
    case underWay(TransferRecord.Kind)
    case members([MemberName])
    case unreadable(String)
    case unavailable(String)

    var description: String {
        switch self {
        case .notEmpty:
            "there is a cluster under this prefix already: choose another cluster.prefix, or export that one first"
        case .underWay(.adopt): "another router's store is being adopted there: finish that with carillon cluster adopt"
        case .underWay(.export): "another member exports this cluster: finish that with carillon cluster export"
        case .members(let names):
            "members live: \(names.map(\.rawValue).joined(separator: ", ")). Stop them first, and start none until this is done"
        case .unreadable(let what): "the cluster's \(what) cannot be read"
        case .unavailable(let what): "the servers did not keep \(what): try again"
        }
    }
}

/// Moves the contents of partitions, and writes the record that blocks members until the end.
struct ClusterTransfer: Sendable {
    private static let key = "transfer"
    /// The value that replaces a removed record. A deletion would not do: it carries no authentication code.
    private static let none: [UInt8] = []
    private static let timeout: Duration = .seconds(30)
    /// Longer than a live member's interval between writes.
    private static let silence = Swift.Duration.seconds(4)

    private let layout: ClusterLayout
    private let stream: JetStream
    private let bucket: KeyValueBucket
    /// The same bucket with the router's former key; nil: the key was never changed.
    private let formerBucket: KeyValueBucket?
    private let logs: JetStreamLogs

    /// `formerSeal` uses the router's former key.
    init(_ layout: ClusterLayout, _ line: MemberLine, formerSeal: MemberSeal? = nil) {
        self.layout = layout
        stream = JetStream(line.client)
        bucket = KeyValueBucket(layout.leaseBucket, in: stream, line.seal)
        formerBucket = formerSeal.map { [stream] in KeyValueBucket(layout.leaseBucket, in: stream, $0) }
        logs = JetStreamLogs(layout, stream, line.seal) { _ in }
    }

    // MARK: The record

    /// The current record, and the revision of the key's last value.
    static func record(in bucket: KeyValueBucket) async throws -> (record: TransferRecord?, revision: UInt64) {
        guard let entry = try await bucket.entry(key) else { return (nil, 0) }
        guard let value = entry.value, value != none else { return (nil, entry.revision) }
        guard let record = TransferRecord(bucketValue: value), record.version == 1 else {
            throw TransferError.unreadable("record of a transfer")
        }
        return (record, entry.revision)
    }

    /// Starts or continues the transfer `id`. Returns whether it is already complete.
    func begin(_ kind: TransferRecord.Kind, id: String) async throws -> Bool {
        let (found, revision) = try await Self.record(in: bucket)
        if let found, found.kind == kind, found.id == id { return found.isDone }
        if let found, !found.isDone { throw TransferError.underWay(found.kind) }
        try await bucket.put(Self.key, TransferRecord(kind: kind, id: id).bucketValue, over: revision)
        return false
    }

    func end(_ kind: TransferRecord.Kind, id: String) async throws {
        var record = TransferRecord(kind: kind, id: id)
        record.isDone = true
        try await bucket.put(Self.key, record.bucketValue)
    }

    /// Cancels a transfer that has not changed anything.
    func abandon() async throws { try await bucket.put(Self.key, Self.none) }

    /// Throws if any member is alive. Takes a few seconds.
    func requireNoLiveMembers() async throws {
        let before = try await members()
        try await Task.sleep(for: Self.silence)
        let living = try await members().filter { before[$0.key] != $0.value }
        guard living.isEmpty else { throw TransferError.members(living.keys.sorted()) }
    }

    private func members() async throws -> [MemberName: UInt64] {
        var found: [MemberName: UInt64] = [:]
        for key in try await bucket.keys() {
            guard case .member(let name)? = ClusterLayout.LeaseKey(key) else { continue }
            found[name] = try await bucket.entry(key)?.revision
        }
        return found
    }

    /// Throws if the cluster under the prefix is not empty. Removes a cluster that was exported; returns whether it
    /// did.
    func emptied(for id: String) async throws -> Bool {
        guard try await layout.find(in: stream, nil) != nil else { return false }
        var (found, _) = try await Self.record(in: bucket)
        // The router's key may change only between an export and the next adoption.
        if found == nil, let formerBucket { found = try await Self.record(in: formerBucket).record }
        if let found, found.kind == .export, found.isDone {
            try await removeEverything()
            return true
        }
        if let found, found.id == id { return false }
        let registry = try await stream.describe(layout.registryStream)
        guard registry.state.last == 0, try await KeyValueBucket(layout.headBucket, in: stream).keys().isEmpty else {
            throw TransferError.notEmpty
        }
        return false
    }

    private func removeEverything() async throws {
        for name in [
            layout.logStream, layout.snapshotStream, layout.registryStream, "KV_\(layout.headBucket)",
            "KV_\(layout.leaseBucket)",
        ] { try await stream.delete(stream: name) }
    }

    // MARK: Partitions

    /// Stores the first snapshot of a partition, whose log is empty. Does nothing if that was already done.
    func store(_ state: PartitionState, in partition: Int) async throws {
        guard case .head(let head, let revision) = try await ask(.head, partition) else {
            throw TransferError.unreadable("partition \(partition)")
        }
        guard head == nil else { return }
        var writer = SnapshotWriter()
        writer.headRevision = revision
        let size = SnapshotHead.partSize
        guard var question = writer.begin(state.snapshot(), named: "adopted", at: 0, epoch: 0, partSize: size) else {
            throw TransferError.unavailable("partition \(partition), which holds too much")
        }
        while true {
            switch writer.answered(try await ask(question, partition)) {
            case .ask(let next): question = next
            // There is no older data to delete.
            case .kept: return
            default: throw TransferError.unavailable("partition \(partition)")
            }
        }
    }

    /// The contents of a partition according to its log.
    func state(of partition: Int) async throws -> PartitionState {
        var limits = PartitionState.Limits()
        limits.deadLetters = DeadLettersOfAll.most
        var contents = LogContents(limits: limits)
        var reader = LogReader(maxContradictions: 5)
        var question = reader.begin()
        while true {
            switch reader.answered(try await ask(question, partition), &contents) {
            case .ask(let next): question = next
            case .again(let next):
                question = next
                try await Task.sleep(for: .milliseconds(200))
            case .read: return contents.state
            case .failed(let error): throw TransferError.unreadable("partition \(partition) (\(error))")
            }
        }
    }

    /// No limit here: the owners have already applied theirs.
    private enum DeadLettersOfAll { static let most = 1_000_000 }

    private func ask(_ question: LogQuestion, _ partition: Int) async throws -> LogAnswer {
        let end = Deadline.now() + Self.timeout
        while true {
            let answer = await logs.answer(question, partition)
            switch answer {
            case .unavailable where Deadline.now() < end: try await Task.sleep(for: .milliseconds(200))
            case .unavailable, .conflict, .full: throw TransferError.unavailable("partition \(partition)")
            default: return answer
            }
        }
    }
}
