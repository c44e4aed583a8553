import NATS
import Synchronization
import Units

/// The bucket of leases: what members write of themselves and of the partitions that they hold, and how each follows
/// what the others write.
final class LeaseBucket: Sendable {
    /// A change of one record; nil if it is gone or foreign.
    enum Change: Sendable {
        case member(MemberName, MemberRecord?)
        case lease(Int, LeaseRecord?)
        case move(Int, MemberName?)
    }

    private struct Following {
        let watch: KeyValueWatch
        let task: Task<Void, Never>
    }

    private let bucket: SealedBucket
    private let following = Mutex<Following?>(nil)

    init(_ layout: ClusterLayout, in stream: JetStream, _ seal: MemberSeal) {
        bucket = SealedBucket(layout.leaseBucket, in: stream, seal)
    }

    deinit { end() }

    /// Says what there is and whatever changes, with its revision, and once that all of it has come. `pause` waits
    /// until the next look at whether the servers still tell.
    func follow(
        pause: @escaping @Sendable () async -> Void,
        becameCurrent: @escaping @Sendable () -> Void,
        changed: @escaping @Sendable (Change, _ revision: UInt64) -> Void
    ) {
        let watch = KeyValueWatch(bucket.bucket) { [bucket] change in
            switch change {
            case .isCurrent: becameCurrent()
            case .entry(let entry): if let change = Self.change(entry, in: bucket) { changed(change, entry.revision) }
            }
        }
        // Of its own: to begin anew it waits for servers, and leases are renewed meanwhile.
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

    /// Nil: it is about something else, or no member wrote it. What that one hides is seen at the next write.
    private static func change(_ entry: KeyValueBucket.Entry, in bucket: SealedBucket) -> Change? {
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

    /// Writes a member's record. The next one follows in a second.
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

    /// The lease as the leader has it; nil: it cannot be read.
    func lease(of partition: Int) async -> (record: LeaseRecord?, revision: UInt64)? {
        guard let entry = try? await bucket.entry(ClusterLayout.leaseKey(partition)) else { return nil }
        return (entry.value.flatMap { LeaseRecord(bucketValue: $0) }, entry.revision)
    }

    /// Tells all members that a partition is to be at that one; nil: wherever it belongs.
    func move(_ partition: Int, to member: MemberName?) async throws(NATSError) {
        let key = ClusterLayout.moveKey(partition)
        if let member {
            try await bucket.put(key, MoveRecord(member: member).bucketValue)
        } else {
            try await bucket.bucket.delete(key)
        }
    }
}
