import Cipher
import Foundation
import NATS
import Units

/// What happens to a cluster as a whole: a router's store becomes a cluster, or a cluster becomes a store again. While
/// that lasts no member may begin.
package struct TransferRecord: Hashable, Sendable, Codable {
    package enum Kind: String, Codable, Sendable {
        case adopt
        case export
    }

    package var version = 1
    package var kind: Kind
    /// Whoever does it. Only that one goes on with it.
    package var id: String
    package var isDone = false

    /// Why no member may begin; nil: one may.
    var obstacle: ClusterError? {
        switch (kind, isDone) {
        case (.adopt, true): nil
        case (.adopt, false): .beingAdopted
        case (.export, false): .beingExported
        case (.export, true): .exported
        }
    }
}

/// Why a store and a cluster do not become each other.
package enum TransferError: Error, Hashable, CustomStringConvertible {
    case notEmpty
    case underWay(TransferRecord.Kind)
    case members([MemberName])
    case unreadable(String)
    case unavailable(String)

    package var description: String {
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

/// Moves what partitions hold, and says to members that it does.
package struct ClusterTransfer: Sendable {
    static let key = "transfer"
    private static let patience: Duration = .seconds(30)
    /// Longer than a member may be silent.
    private static let silence = Swift.Duration.seconds(4)

    private let layout: ClusterLayout
    private let stream: JetStream
    private let bucket: KeyValueBucket
    private let logs: JetStreamLogs

    package init(_ layout: ClusterLayout, _ line: MemberLine) {
        self.layout = layout
        stream = JetStream(line.client)
        bucket = KeyValueBucket(layout.leaseBucket, in: stream)
        logs = JetStreamLogs(layout, stream, line.seal) { _ in }
    }

    // MARK: Who moves it

    static func record(in bucket: KeyValueBucket) async throws -> (record: TransferRecord?, revision: UInt64) {
        guard let entry = try await bucket.entry(key) else { return (nil, 0) }
        guard let value = entry.value else { return (nil, entry.revision) }
        guard let record = TransferRecord(bucketValue: value), record.version == 1 else {
            throw TransferError.unreadable("record of a transfer")
        }
        return (record, entry.revision)
    }

    /// Begins, or goes on with, what `id` does. Returns whether everything is done already.
    package func begin(_ kind: TransferRecord.Kind, id: String) async throws -> Bool {
        let (found, revision) = try await Self.record(in: bucket)
        if let found, found.kind == kind, found.id == id { return found.isDone }
        if let found, !found.isDone { throw TransferError.underWay(found.kind) }
        try await bucket.put(Self.key, TransferRecord(kind: kind, id: id).bucketValue, over: revision)
        return false
    }

    package func end(_ kind: TransferRecord.Kind, id: String) async throws {
        var record = TransferRecord(kind: kind, id: id)
        record.isDone = true
        try await bucket.put(Self.key, record.bucketValue)
    }

    /// Gives up what has changed nothing yet.
    package func abandon() async throws { try await bucket.delete(Self.key) }

    /// Throws while any member lives. Takes some seconds.
    package func checkThatNobodyLives() async throws {
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

    /// Throws when the cluster under the prefix has anything in it. One that was exported is removed; returns whether
    /// it was.
    package func emptied(for id: String) async throws -> Bool {
        guard try await layout.find(in: stream) != nil else { return false }
        let (found, _) = try await Self.record(in: bucket)
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

    /// Makes the first state of a partition, whose log is empty. Does nothing where that was done.
    package func store(_ state: PartitionState, in partition: Int, wire: Int) async throws {
        guard case .head(let head, let revision) = try await ask(.head, partition) else {
            throw TransferError.unreadable("partition \(partition)")
        }
        guard head == nil else { return }
        let bytes = state.snapshot(wire: wire)
        let name = "adopted"
        let size = SnapshotHead.partSize
        let starts = Array(stride(from: 0, to: bytes.count, by: size))
        for (index, start) in starts.enumerated() {
            let part = Array(bytes[start..<min(start + size, bytes.count)])
            _ = try await ask(.storePart(name: name, index: index, part), partition)
        }
        let new = SnapshotHead(
            name: name,
            parts: starts.count,
            byteCount: bytes.count,
            sha256: Hex.encode(SHA256.hash(bytes)),
            sequence: 0,
            epoch: 0
        )
        guard new.isPlausible else { throw TransferError.unavailable("partition \(partition), which holds too much") }
        _ = try await ask(.storeHead(new, over: revision), partition)
    }

    /// What a partition holds, as its log says.
    package func state(of partition: Int) async throws -> PartitionState {
        guard case .head(let head, _) = try await ask(.head, partition) else {
            throw TransferError.unreadable("partition \(partition)")
        }
        var limits = PartitionState.Limits()
        limits.deadLetters = DeadLettersOfAll.most
        var (state, position) = (PartitionState(limits: limits), UInt64(0))
        if let head {
            var bytes: [UInt8] = []
            for index in 0..<head.parts {
                guard case .part(let part?) = try await ask(.part(name: head.name, index: index), partition) else {
                    throw TransferError.unreadable("snapshot of partition \(partition)")
                }
                bytes += part
            }
            guard bytes.count == head.byteCount, Hex.encode(SHA256.hash(bytes)) == head.sha256 else {
                throw TransferError.unreadable("snapshot of partition \(partition)")
            }
            (state, position) = (try PartitionState(snapshot: bytes, limits: limits), head.sequence)
        }
        while true {
            guard case .records(let records, let isLast) = try await ask(.records(after: position), partition) else {
                throw TransferError.unreadable("log of partition \(partition)")
            }
            for record in records {
                position = record.sequence
                guard let next = try record.bytes.map(LogRecord.init), !state.includes(next.identity) else { continue }
                try state.apply(next)
            }
            if isLast { return state }
        }
    }

    /// A reader keeps whatever the owners kept.
    private enum DeadLettersOfAll { static let most = 1_000_000 }

    private func ask(_ question: LogQuestion, _ partition: Int) async throws -> LogAnswer {
        let end = Deadline.now() + Self.patience
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
