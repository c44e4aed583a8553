import Cipher
import Foundation
import NATS
import Units

/// How the cluster's things are called in NATS. Two clusters may share servers under different prefixes.
package struct ClusterLayout: Hashable, Sendable {
    package static let standardPrefix = "carillon"

    package let prefix: MemberName

    package init(prefix: MemberName) { self.prefix = prefix }

    var logStream: String { "\(prefix)_LOG" }
    var snapshotStream: String { "\(prefix)_SNAP" }
    var leaseBucket: String { "\(prefix)_LEASE" }
    package var requestBucket: String { "\(prefix)_REQUEST" }
    var headBucket: String { "\(prefix)_HEAD" }

    var registryStream: String { "\(prefix)_REG" }
    /// What all members' registries are made of, in one order.
    var registry: String { "\(prefix).reg" }
    /// A word to the others that the registry changed; not kept.
    var registryNews: String { "\(prefix).news" }

    func log(_ partition: Int) -> String { "\(prefix).log.\(partition)" }
    func part(_ partition: Int, _ name: String, _ index: Int) -> String {
        "\(prefix).snap.\(partition).\(name).\(index)"
    }
    func registryPart(_ name: String, _ index: Int) -> String { "\(prefix).snap.registry.\(name).\(index)" }
    var registryParts: String { "\(prefix).snap.registry.>" }
    func parts(_ partition: Int) -> String { "\(prefix).snap.\(partition).>" }
    /// Where a member takes questions of others.
    package func questions(to member: String) -> String { "\(prefix).ask.\(member)" }
    /// Where a member hears what happens at others, and whether they want to hear what happens there.
    package func live(to member: String) -> String { "\(prefix).live.\(member)" }
    /// Where whoever holds the relays of a partition is asked for what they have, and where all learn what was found.
    package func fetch(_ partition: Int) -> String { "\(prefix).fetch.\(partition)" }
    package var findings: String { "\(prefix).found" }

    func handOver(_ partition: Int) -> String { "\(prefix).in.\(partition)" }
    /// A word to all members that the named partition has an owner who takes events; not kept.
    var openedPartitions: String { "\(prefix).opened" }

    static let clusterKey = "cluster"

    static func leaseKey(_ partition: Int) -> String { "p.\(partition)" }
    static func memberKey(_ name: MemberName) -> String { "member.\(name)" }
    static func moveKey(_ partition: Int) -> String { "move.\(partition)" }
    static func headKey(_ partition: Int) -> String { "p.\(partition)" }

    /// What a key of the bucket of leases is about.
    enum LeaseKey: Equatable {
        case partition(Int)
        case member(MemberName)
        case move(Int)

        init?(_ key: String) {
            if key.hasPrefix("p."), let number = Int(key.dropFirst(2)), Partitioning.partitionRange.contains(number + 1)
            {
                self = .partition(number)
            } else if key.hasPrefix("member."), let name = MemberName(String(key.dropFirst(7))) {
                self = .member(name)
            } else if key.hasPrefix("move."), let number = Int(key.dropFirst(5)),
                Partitioning.partitionRange.contains(number + 1)
            {
                self = .move(number)
            } else {
                return nil
            }
        }
    }

    /// What there is of the cluster; nil: nothing.
    package func find(
        in stream: JetStream
    ) async throws(NATSError) -> (partitioning: Partitioning?, members: [MemberName])? {
        let bucket = KeyValueBucket(leaseBucket, in: stream)
        do throws(NATSError) {
            let keys = try await bucket.keys()
            guard let value = try await bucket.entry(Self.clusterKey)?.value else { return nil }
            let members = keys.compactMap { key -> MemberName? in
                if case .member(let name)? = LeaseKey(key) { name } else { nil }
            }
            return (ClusterRecord(bucketValue: value)?.partitioning, members.sorted())
        } catch {
            if case .refused(JetStream.Code.streamNotFound, _) = error { return nil }
            throw error
        }
    }

    /// What streams may hold at most, in bytes. Servers set that aside when they make a stream.
    package struct Capacity: Hashable, Sendable {
        /// Of the logs of all partitions. Snapshots keep them short, so that it takes no more than a part of it.
        package var log = 1 << 30
        /// Of snapshots of partitions and of the registry: twice what waits and what is registered.
        package var snapshots = 2 << 30
        /// Of the registry's changes since the snapshot before the last.
        package var registry = 1 << 30
        /// Of a day's requests for notifications: some 900 bytes for one with a key. The oldest go first.
        package var requests = 1 << 30

        package init() {}
    }

    /// Makes streams and buckets, where they are missing or different. All at once: the servers elect a leader for
    /// each, which may take seconds.
    package func ensure(in stream: JetStream, replicas: Int, _ capacity: Capacity) async throws(NATSError) {
        let results = await withTaskGroup(of: Result<Void, NATSError>.self) { group in
            for configuration in configurations(replicas, capacity) {
                group.addTask {
                    do throws(NATSError) {
                        return .success(try await stream.ensure(configuration))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for result in results { try result.get() }
    }

    private func configurations(_ replicas: Int, _ capacity: Capacity) -> [StreamConfiguration] {
        var log = StreamConfiguration(name: logStream, subjects: ["\(prefix).log.*"])
        log.replicas = replicas
        // A repetition of an append is known for longer than any outage that a lease survives.
        log.duplicateWindow = 600_000_000_000
        log.maxBytes = Int64(capacity.log)
        var snapshots = StreamConfiguration(name: snapshotStream, subjects: ["\(prefix).snap.*.*.*"])
        snapshots.replicas = replicas
        snapshots.allowDirect = true
        snapshots.maxBytes = Int64(capacity.snapshots)
        var registry = StreamConfiguration(name: registryStream, subjects: [registry])
        registry.replicas = replicas
        registry.duplicateWindow = 600_000_000_000
        registry.deniesDeletion = true
        registry.maxBytes = Int64(capacity.registry)
        return [
            // A foreign value there does not hide a member's.
            log, snapshots, registry, KeyValueBucket.configuration(leaseBucket, replicas: replicas, history: 2),
            KeyValueBucket.configuration(headBucket, replicas: replicas, history: 8),
            KeyValueBucket.configuration(
                requestBucket,
                replicas: replicas,
                age: .days(1),
                bytes: Int64(capacity.requests)
            ),
        ]
    }
}

/// What the members of a cluster must agree on. The first one writes it, and it never changes.
package struct ClusterRecord: Hashable, Sendable, Codable {
    package var version = 1
    package var partitions: Int
    /// Of ``Partitioning``, in hexadecimal digits.
    package var hashKey: String

    /// Nil: it is of a later version, or its numbers are impossible.
    package var partitioning: Partitioning? {
        guard version == 1, let key = Hex.decode(hashKey) else { return nil }
        return Partitioning(partitions: partitions, key: key)
    }

    /// The record of the cluster; writes one for `partitions` if there is none.
    static func find(
        in bucket: KeyValueBucket,
        partitions: Int,
        random: inout some RandomNumberGenerator
    ) async throws -> Partitioning {
        let key = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let own = ClusterRecord(partitions: partitions, hashKey: Hex.encode(key))
        if try await bucket.entry(ClusterLayout.clusterKey) == nil {
            do throws(NATSError) {
                try await bucket.put(ClusterLayout.clusterKey, own.bucketValue, over: 0)
            } catch {
                // Another member may have been first.
                guard case .refused(JetStream.Code.wrongLastSequence, _) = error else { throw error }
            }
        }
        guard let value = try await bucket.entry(ClusterLayout.clusterKey)?.value,
            let partitioning = ClusterRecord(bucketValue: value)?.partitioning
        else { throw ClusterError.unreadableRecord }
        guard partitioning.partitions == partitions else {
            throw ClusterError.otherPartitions(partitioning.partitions, configured: partitions)
        }
        return partitioning
    }
}

/// Why a member cannot join.
package enum ClusterError: Error, Hashable, CustomStringConvertible {
    case unreadableRecord
    case otherPartitions(Int, configured: Int)
    case beingAdopted
    case beingExported
    case exported

    package var description: String {
        switch self {
        case .unreadableRecord:
            "the cluster's record cannot be read: a newer Carillon wrote it, or something else uses the prefix"
        case .otherPartitions(let found, let configured):
            "the cluster has \(found) partitions, and the configuration says \(configured); the number never changes"
        case .beingAdopted:
            "a router's store is being adopted into the cluster: finish that with carillon cluster adopt, where that store is"
        case .beingExported:
            "the cluster is being exported into one store: finish that with carillon cluster export, where that store is"
        case .exported:
            "the cluster was exported into one store, and a router serves that alone: take the block 'cluster' out there, or adopt that store"
        }
    }
}

/// The logs, snapshots and heads of partitions in JetStream.
struct JetStreamLogs: Sendable {
    /// Records that are read before they are taken up.
    private static let recordsAtOnce = 64

    private let layout: ClusterLayout
    private let stream: JetStream
    private let seal: MemberSeal
    private let heads: SealedBucket
    /// Called with what the servers refuse and nobody expected, such as a full disk.
    private let refused: @Sendable (NATSError) -> Void

    init(
        _ layout: ClusterLayout,
        _ stream: JetStream,
        _ seal: MemberSeal,
        refused: @escaping @Sendable (NATSError) -> Void
    ) {
        self.layout = layout
        self.stream = stream
        self.seal = seal
        self.refused = refused
        heads = SealedBucket(layout.headBucket, in: stream, seal)
    }

    func answer(_ question: LogQuestion, _ partition: Int) async -> LogAnswer {
        do throws(NATSError) {
            switch question {
            case .head: return try await head(partition)
            case .part(let name, let index):
                let subject = layout.part(partition, name, index)
                // A part is written once, so that every replica that has it has the same.
                if let part = try? await stream.copy(ofLast: subject, in: layout.snapshotStream) { return .part(part) }
                return .part(try await stream.last(of: subject, in: layout.snapshotStream)?.payload)
            case .records(let after): return try await records(partition, after)
            case .append(let bytes, let messageID, let expected):
                let expectation = JetStream.Expectation(lastOfSubject: expected, messageID: messageID)
                let subject = layout.log(partition)
                let sealed = seal.seal(bytes, for: subject)
                return .stored(sequence: try await stream.append(subject, sealed, expecting: expectation).seq)
            case .storePart(let name, let index, let bytes):
                return .stored(sequence: try await stream.append(layout.part(partition, name, index), bytes).seq)
            case .storeHead(let head, let over):
                let key = ClusterLayout.headKey(partition)
                return .stored(sequence: try await heads.put(key, head.bucketValue, over: over))
            case .purge(let log, let snapshots):
                // Before sequence 0 would mean everything.
                if log > 1 { try await stream.purge(layout.logStream, subject: layout.log(partition), before: log) }
                if snapshots > 1 {
                    let subject = layout.parts(partition)
                    try await stream.purge(layout.snapshotStream, subject: subject, before: snapshots)
                }
                return .done
            }
        } catch {
            switch error {
            case .refused(code: JetStream.Code.wrongLastSequence, _): return .conflict
            case .refused(code: JetStream.Code.appendUnderWay, _),
                .refused(code: JetStream.Code.duplicateUnderWay, _),
                .refused(code: JetStream.Code.temporarilyUnavailable, _):
                return .unavailable
            case .refused(code: JetStream.Code.noSpace, _):
                refused(error)
                return .full
            case .refused, .tooLong, .invalidSubject, .invalidHeader:
                refused(error)
                return .unavailable
            default: return .unavailable
            }
        }
    }

    private func head(_ partition: Int) async throws(NATSError) -> LogAnswer {
        guard let entry = try await heads.entry(ClusterLayout.headKey(partition)) else {
            return .head(nil, revision: 0)
        }
        guard let value = entry.value else { return .head(nil, revision: entry.revision) }
        guard let head = SnapshotHead(bucketValue: value) else { return .unreadable }
        return .head(head, revision: entry.revision)
    }

    private func records(_ partition: Int, _ after: UInt64) async throws(NATSError) -> LogAnswer {
        var records: [LogAnswer.Record] = []
        var from = after + 1
        while records.count < Self.recordsAtOnce {
            let subject = layout.log(partition)
            guard let message = try await stream.next(of: subject, from: from, in: layout.logStream) else {
                return .records(records, isLast: true)
            }
            let bytes = seal.open(message.payload, of: subject)
            records.append(LogAnswer.Record(sequence: message.sequence, bytes: bytes))
            from = message.sequence + 1
        }
        return .records(records, isLast: false)
    }
}
