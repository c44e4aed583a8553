import Core
import DeliveryTestSupport
import Logging
import Push
import RouterConfiguration
import Synchronization
import Testing

@testable import Cluster

/// Members against a real server.
@Suite(.timeLimit(.minutes(2)))
struct RealServersTests {
    private static let partitions = 4
    private static let seal = MemberSeal(secret: [1])

    private struct Joined {
        let member: ClusterMember
        let work: RecordingWork
        let client: NATSClient
    }

    private static func join(_ name: String, _ client: NATSClient, replicas: Int) async throws -> Joined {
        var settings = ClusterMember.Settings(
            name: try #require(MemberName(name)),
            layout: ClusterLayout(prefix: try #require(MemberName("test")))
        )
        settings.partitions = partitions
        settings.replicas = replicas
        settings.log.snapshotRecords = 8
        let work = RecordingWork()
        let line = MemberLine(client, seal)
        let member = ClusterMember(
            settings,
            try await ClusterMember.prepare(settings, line: line),
            line: line,
            work: work,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        work.member = member
        member.start()
        return Joined(member: member, work: work, client: client)
    }

    /// Passes events to owners and waits until they are kept.
    private static func handOver(_ numbers: Range<Int>, through member: ClusterMember) async {
        await withTaskGroup(of: Void.self) { group in
            for number in numbers {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        member.exchange.handOver(Array("event \(number)".utf8), to: number % partitions) { _ in
                            continuation.resume()
                        }
                    }
                }
            }
        }
    }

    @Test func aFormerOwnersAppendIsRefused() async throws {
        let server = try RealServer()
        let a = try await Self.join("a", server.client(), replicas: 1)
        #expect(await eventually { a.member.openPartitions.count == 4 })
        await Self.handOver(0..<4, through: a.member)
        // Another client starts an epoch, like a member that took the lease while this one slept.
        let stream = JetStream(try await server.client())
        let last = try #require(try await stream.last(of: "test.log.0", in: "test_LOG"))
        let before = try LogRecord(try #require(Self.seal.open(last.payload, of: "test.log.0"))).identity
        let other = LogRecord(
            LogRecord.Identity(epoch: before.epoch + 1, author: 1, index: 0),
            .beginning(
                LogRecord.Beginning(
                    previousEpoch: before.epoch,
                    previousIndex: before.index,
                    member: try #require(MemberName("z"))
                )
            )
        )
        let condition = JetStream.Expectation(lastOfSubject: last.sequence)
        let sequence = try await stream.append(
            "test.log.0",
            Self.seal.seal(other.bytes, for: "test.log.0"),
            expecting: condition
        ).seq
        try a.member.commit(.sample(1), to: 0)
        #expect(await eventually { a.work.closed[0] == .fenced })
        let end = try #require(try await stream.last(of: "test.log.0", in: "test_LOG"))
        let epoch = try LogRecord(try #require(Self.seal.open(end.payload, of: "test.log.0"))).identity.epoch
        #expect(end.sequence == sequence || epoch > before.epoch + 1)
        #expect(!a.work.sent.contains("d1"))
        // The member still has the lease, so it starts the next epoch.
        #expect(await eventually { a.member.openPartitions.count == 4 })
        a.member.stop()
        a.client.close()
    }

    /// Messages from outside never hide the entries of members.
    @Test func foreignBucketEntryIsIgnored() async throws {
        let server = try RealServer()
        let stream = JetStream(try await server.client())
        let outside = KeyValueBucket("test", in: stream)
        try await outside.stream.ensure(KeyValueBucket.configuration(outside.name, replicas: 1, history: 8))
        let bucket = KeyValueBucket("test", in: stream, Self.seal)
        #expect(try await bucket.entry("key") == nil)
        try await bucket.put("key", [1])
        try await bucket.put("key", [2])
        let copy = try #require(try await outside.entry("key")?.value)
        try await outside.put("key", Array("rubbish".utf8))
        try await outside.delete("key")
        let last = try await outside.put("key", [])
        let hidden = try #require(try await bucket.entry("key"))
        #expect(hidden.value == [2] && hidden.revision == last)
        try await bucket.put("key", [3], over: last)
        #expect(try await bucket.entry("key")?.value == [3])
        // A member's value under another key.
        try await outside.put("other", copy)
        let other = try #require(try await bucket.entry("other"))
        #expect(other.value == nil)
    }

    /// Outsiders with write access to the servers get no partition, and the members keep theirs.
    @Test func foreignLeasesTakeOverNoPartition() async throws {
        let server = try RealServer()
        let a = try await Self.join("a", server.client(), replicas: 1)
        #expect(await eventually { a.member.openPartitions.count == 4 })
        let outside = KeyValueBucket("test_LEASE", in: JetStream(try await server.client()))
        let name = try #require(MemberName("b"))
        for partition in 0..<4 {
            let lease = LeaseRecord(holder: name, incarnation: 7, isFree: false, beat: 1)
            try await outside.put("p.\(partition)", lease.bucketValue)
        }
        try await outside.put("member.b", MemberRecord(name: name, incarnation: 7).bucketValue)
        await Self.handOver(0..<8, through: a.member)
        #expect(await eventually { a.work.sent.count == 8 && a.member.openPartitions.count == 4 })
        #expect(a.work.closed.isEmpty)
        a.member.stop()
        a.client.close()
    }

    @Test func snapshotsShortenTheLog() async throws {
        let server = try RealServer()
        let a = try await Self.join("a", server.client(), replicas: 1)
        #expect(await eventually { a.member.openPartitions.count == 4 })
        for round in 0..<20 { await Self.handOver(round * 4..<round * 4 + 4, through: a.member) }
        let stream = JetStream(try await server.client())
        let isShorter = try await eventually { try await stream.describe("test_LOG").state.messages < 80 }
        #expect(isShorter)
        #expect(await eventually { a.work.sent.count == 80 })
        await a.member.leave()
        // The next member starts immediately from the snapshots, because the leases are free.
        let b = try await Self.join("b", server.client(), replicas: 1)
        #expect(await eventually { b.member.openPartitions.count == 4 })
        await Self.handOver(0..<80, through: b.member)
        #expect(b.work.sent.isEmpty)
        b.member.stop()
    }

    @Test func anotherNumberOfPartitionsIsRefused() async throws {
        let server = try RealServer()
        let a = try await Self.join("a", server.client(), replicas: 1)
        a.member.stop()
        var settings = ClusterMember.Settings(
            name: try #require(MemberName("b")),
            layout: ClusterLayout(prefix: try #require(MemberName("test")))
        )
        (settings.partitions, settings.replicas) = (8, 1)
        let client = try await server.client()
        await #expect(throws: ClusterError.otherPartitions(4, configured: 8)) {
            _ = try await ClusterMember.prepare(settings, line: MemberLine(client, Self.seal))
        }
    }
}
