import Core
import Foundation
import RouterConfiguration

/// The names of a cluster's streams, buckets and subjects in NATS. Each cluster on the servers has its own prefix.
struct ClusterLayout: Hashable, Sendable {
    let prefix: MemberName

    init(prefix: MemberName) { self.prefix = prefix }

    var logStream: String { "\(prefix)_LOG" }
    var snapshotStream: String { "\(prefix)_SNAP" }
    var leaseBucket: String { "\(prefix)_LEASE" }
    var requestBucket: String { "\(prefix)_REQUEST" }
    var headBucket: String { "\(prefix)_HEAD" }

    var registryStream: String { "\(prefix)_REG" }
    /// The stream of registry changes, which gives all members the same order.
    var registry: String { "\(prefix).reg" }
    /// The notice that the registry changed. It is not stored.
    var registryNews: String { "\(prefix).news" }

    func log(_ partition: Int) -> String { "\(prefix).log.\(partition)" }
    func part(_ partition: Int, _ name: String, _ index: Int) -> String {
        "\(prefix).snap.\(partition).\(name).\(index)"
    }
    func registryPart(_ name: String, _ index: Int) -> String { "\(prefix).snap.registry.\(name).\(index)" }
    var registryParts: String { "\(prefix).snap.registry.>" }
    func parts(_ partition: Int) -> String { "\(prefix).snap.\(partition).>" }
    /// The subject on which a member receives other members' requests.
    func questions(to member: String) -> String { "\(prefix).ask.\(member)" }
    /// The subject on which a member receives live events, and other members' subscriptions to its own.
    func live(to member: String) -> String { "\(prefix).live.\(member)" }
    /// The subject for requests to the holder of a partition's relays; ``findings`` brings the results to all members.
    func fetch(_ partition: Int) -> String { "\(prefix).fetch.\(partition)" }
    var findings: String { "\(prefix).found" }

    func handOver(_ partition: Int) -> String { "\(prefix).in.\(partition)" }
    /// The notice that a partition has an owner that accepts events. It is not stored.
    var openedPartitions: String { "\(prefix).opened" }

    static let clusterKey = "cluster"

    static func leaseKey(_ partition: Int) -> String { "p.\(partition)" }
    static func memberKey(_ name: MemberName) -> String { "member.\(name)" }
    static func moveKey(_ partition: Int) -> String { "move.\(partition)" }
    static func headKey(_ partition: Int) -> String { "p.\(partition)" }

    /// The kinds of keys in the bucket of leases.
    enum LeaseKey: Equatable {
        case partition(Int)
        case member(MemberName)
        case move(Int)

        init?(_ key: String) {
            if key.hasPrefix("p."), let number = Int(key.dropFirst(2)),
                Configuration.Cluster.partitionRange.contains(number + 1)
            {
                self = .partition(number)
            } else if key.hasPrefix("member."), let name = MemberName(String(key.dropFirst(7))) {
                self = .member(name)
            } else if key.hasPrefix("move."), let number = Int(key.dropFirst(5)),
                Configuration.Cluster.partitionRange.contains(number + 1)
            {
                self = .move(number)
            } else {
                return nil
            }
        }
    }

    /// Finds the cluster under the prefix; nil: there is none. `partitions` is nil without a `seal`, or if no record of
    /// a member is left.
    func find(
        in stream: JetStream,
        _ seal: MemberSeal?
    ) async throws(NATSError) -> (partitions: Int?, members: [MemberName])? {
        let bucket = KeyValueBucket(leaseBucket, in: stream)
        do throws(NATSError) {
            let keys = try await bucket.keys()
            guard keys.contains(Self.clusterKey) else { return nil }
            let members = keys.compactMap { key -> MemberName? in
                if case .member(let name)? = LeaseKey(key) { name } else { nil }
            }
            guard let seal else { return (nil, members.sorted()) }
            let record = try await KeyValueBucket(leaseBucket, in: stream, seal).entry(Self.clusterKey)
            return (record?.value.flatMap { ClusterRecord(bucketValue: $0) }?.partitions, members.sorted())
        } catch {
            if case .refused(JetStream.Code.streamNotFound, _) = error { return nil }
            throw error
        }
    }

    /// Creates or updates streams and buckets, all at the same time: the servers elect a leader for each, which may
    /// take seconds.
    func ensure(in stream: JetStream, replicas: Int, _ capacity: Configuration.Cluster.Capacity) async throws(NATSError)
    {
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

    private func configurations(_ replicas: Int, _ capacity: Configuration.Cluster.Capacity) -> [StreamConfiguration] {
        var log = StreamConfiguration(name: logStream, subjects: ["\(prefix).log.*"])
        log.replicas = replicas
        // Ten minutes: longer than any outage that a lease survives, so a repeated append is recognized.
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
            // A history of several values: a foreign value does not hide a member's.
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

/// The settings on which all members of a cluster must agree. The first member writes them, and they never change.
struct ClusterRecord: Hashable, Sendable, Codable {
    var version = 1
    var partitions: Int

    /// Checks that the cluster has as many `partitions`. Writes the record if no member's record is left.
    static func agree(on partitions: Int, in bucket: KeyValueBucket) async throws {
        var found = try await bucket.entry(ClusterLayout.clusterKey)
        if found?.value == nil {
            do throws(NATSError) {
                let own = ClusterRecord(partitions: partitions).bucketValue
                try await bucket.put(ClusterLayout.clusterKey, own, over: found?.revision ?? 0)
                return
            } catch {
                // Another member may have written it first.
                guard case .refused(JetStream.Code.wrongLastSequence, _) = error else { throw error }
            }
            found = try await bucket.entry(ClusterLayout.clusterKey)
        }
        guard let value = found?.value, let record = ClusterRecord(bucketValue: value), record.version == 1 else {
            throw ClusterError.unreadableRecord
        }
        guard record.partitions == partitions else {
            throw ClusterError.otherPartitions(record.partitions, configured: partitions)
        }
    }
}

/// The reason why a router cannot join a cluster.
enum ClusterError: Error, Hashable, CustomStringConvertible {
    case unreadableRecord
    case otherPartitions(Int, configured: Int)
    case beingAdopted
    case beingExported
    case exported

    var description: String {
        switch self {
        case .unreadableRecord:
            "the cluster's record cannot be read: a newer Carillon wrote it. Update this router"
        case .otherPartitions(let found, let configured):
            "the cluster has \(found) partitions, and the configuration says \(configured); the number never changes"
        case .beingAdopted:
            "a router's store is being adopted into the cluster: finish that with carillon cluster adopt, where that store is"
        case .beingExported:
            "the cluster is being exported into one store: finish that with carillon cluster export, where that store is"
        case .exported:
            "the cluster was exported into one store for a single router: remove the block 'cluster' there, or adopt that store"
        }
    }
}

/// The storage of partitions' logs, snapshots and heads in JetStream.
struct JetStreamLogs: Sendable {
    /// The number of records read before they are applied.
    private static let recordsAtOnce = 64

    private let layout: ClusterLayout
    private let stream: JetStream
    private let seal: MemberSeal
    private let heads: KeyValueBucket
    /// Called for unexpected errors of the servers, such as a full disk.
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
        heads = KeyValueBucket(layout.headBucket, in: stream, seal)
    }

    func answer(_ question: LogQuestion, _ partition: Int) async -> LogAnswer {
        do throws(NATSError) {
            switch question {
            case .head: return try await head(partition)
            case .part(let name, let index):
                let subject = layout.part(partition, name, index)
                // A part is written once, so any replica that has it has the right content.
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
                // JetStream takes sequence 0 as "all messages".
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
