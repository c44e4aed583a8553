import Core
import Foundation
import RouterConfiguration
import Synchronization

/// The lease bucket: each member writes its own record and its leases, and watches those of the others.
final class LeaseBucket: Sendable {
    /// A change of one record; its value is nil if it was deleted or is foreign.
    enum Change: Sendable {
        case member(MemberName, MemberRecord?)
        case lease(Int, LeaseRecord?)
        case move(Int, MemberName?)
    }

    private struct Following {
        let watch: KeyValueWatch
        let task: Task<Void, Never>
    }

    private let bucket: KeyValueBucket
    private let following = Mutex<Following?>(nil)

    init(_ layout: ClusterLayout, in stream: JetStream, _ seal: MemberSeal) {
        bucket = KeyValueBucket(layout.leaseBucket, in: stream, seal)
    }

    deinit { end() }

    /// Reports all initial entries, then that they are complete, and every later change, each with its revision.
    /// `pause` waits until the next check whether the servers still send.
    func follow(
        pause: @escaping @Sendable () async -> Void,
        becameCurrent: @escaping @Sendable () -> Void,
        changed: @escaping @Sendable (Change, _ revision: UInt64) -> Void
    ) {
        let watch = KeyValueWatch(bucket) { [bucket] change in
            switch change {
            case .isCurrent: becameCurrent()
            case .entry(let entry): if let change = Self.change(entry, in: bucket) { changed(change, entry.revision) }
            }
        }
        // A separate task: restarting waits for servers, while leases must still be renewed.
        let task = Task {
            while !Task.isCancelled {
                await watch.tick()
                await pause()
            }
        }
        following.withLock { $0 = Following(watch: watch, task: task) }
    }

    func end() {
        let following = following.withLock { following in
            defer { following = nil }
            return following
        }
        following?.watch.end()
        following?.task.cancel()
    }

    /// Returns nil for an unknown key or a foreign value. The next write reveals a value that a foreign one hides.
    private static func change(_ entry: KeyValueBucket.Entry, in bucket: KeyValueBucket) -> Change? {
        guard let key = ClusterLayout.LeaseKey(entry.key) else { return nil }
        let isDeleted = entry.value == nil
        let entry = bucket.opened(entry)
        guard isDeleted || entry.value != nil else { return nil }
        return switch key {
        case .member(let name): .member(name, entry.value.flatMap { MemberRecord(bucketValue: $0) })
        case .partition(let partition): .lease(partition, entry.value.flatMap { LeaseRecord(bucketValue: $0) })
        case .move(let partition): .move(partition, entry.value.flatMap { MoveRecord(bucketValue: $0) }?.member)
        }
    }

    /// Writes a member's record. Ignores errors, because the next write follows in a second.
    func announce(_ record: MemberRecord) async {
        _ = try? await bucket.put(ClusterLayout.memberKey(record.name), record.bucketValue)
    }

    func write(_ record: LeaseRecord, of partition: Int, over revision: UInt64) async -> LeaseTable.WriteResult {
        do throws(NATSError) {
            let key = ClusterLayout.leaseKey(partition)
            return .stored(revision: try await bucket.put(key, record.bucketValue, over: revision))
        } catch {
            if case .refused(JetStream.Code.wrongLastSequence, _) = error { return .conflict }
            // It may have been written.
            return .unknown
        }
    }

    /// The lease, read from the leader; nil: it cannot be read.
    func lease(of partition: Int) async -> (record: LeaseRecord?, revision: UInt64)? {
        guard let entry = try? await bucket.entry(ClusterLayout.leaseKey(partition)) else { return nil }
        return (entry.value.flatMap { LeaseRecord(bucketValue: $0) }, entry.revision)
    }

    /// Sets the owner of a partition for all members; nil: the default owner.
    func move(_ partition: Int, to member: MemberName?) async throws(NATSError) {
        let key = ClusterLayout.moveKey(partition)
        if let member {
            try await bucket.put(key, MoveRecord(member: member).bucketValue)
        } else {
            try await bucket.delete(key)
        }
    }
}

/// A member's description of itself, at `member.<name>` in the lease bucket. The member rewrites it every second.
struct MemberRecord: Hashable, Sendable, Codable {
    var name: MemberName
    /// A random number, new at each start.
    var incarnation: UInt64
    /// The version of the log format that it reads and writes.
    var wire = Int(LogRecord.formatVersion)
    /// It stops: it hands its partitions over and takes none.
    var isLeaving = false
    /// A hash of its configuration, to find members that differ.
    var configuration = ""
    /// How many times it wrote the record.
    var beat: UInt64 = 0
    /// An operator drained it: it hands its partitions over and takes none, without leaving.
    var isDrained = false
    /// Partitions that it leaves to other members for a while, because it cannot read the format of their logs.
    var declined: [Int] = []
    /// Its version of Carillon; nil: unknown.
    var version: String?
    /// When it started, in seconds since 1970; nil: unknown.
    var startedAt: Int64?
}

/// The lease of a partition, at `p.<number>` in the same bucket. Its holder rewrites it every second.
struct LeaseRecord: Hashable, Sendable, Codable {
    var holder: MemberName
    var incarnation: UInt64
    /// The holder released it: any member may take it immediately.
    var isFree: Bool
    /// The number of lease writes of this incarnation, by which it recognizes its own.
    var beat: UInt64
}

/// An operator's choice of a partition's owner, at `move.<number>` in the same bucket.
struct MoveRecord: Hashable, Sendable, Codable {
    var member: MemberName
}

extension Decodable where Self: Encodable {
    /// Decodes a ``bucketValue``; nil if it is invalid or of a version that this one cannot read.
    init?(bucketValue: [UInt8]) {
        guard bucketValue.count <= 64 << 10,
            let value = try? JSONDecoder().decode(Self.self, from: Data(bucketValue))
        else { return nil }
        self = value
    }

    /// The value in the bucket: JSON, so that an operator can read it.
    var bucketValue: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }
}
