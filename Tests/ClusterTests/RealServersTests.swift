import Cluster
import DeliveryTestSupport
import Logging
import NATS
import NATSTestSupport
import Notifications
import Synchronization
import Testing
import Units

/// Members against three real servers that replicate.
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
        var random = SystemRandomNumberGenerator()
        let member = ClusterMember(
            settings,
            try await ClusterMember.prepare(settings, client: client, random: &random),
            line: MemberLine(client, seal),
            work: work,
            random: &random,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        work.member = member
        member.start()
        return Joined(member: member, work: work, client: client)
    }

    /// Hands events over and waits until they are kept.
    private static func handOver(_ numbers: Range<Int>, through member: ClusterMember) async {
        await withTaskGroup(of: Void.self) { group in
            for number in numbers {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        member.handOver(Array("event \(number)".utf8), to: number % partitions) {
                            continuation.resume()
                        }
                    }
                }
            }
        }
    }

    @Test func aMemberTakesOverWhatACrashedOneHeld() async throws {
        let cluster = try RealCluster()
        var first: Joined?
        // Servers take a moment to agree on who leads.
        #expect(
            await eventually {
                guard let client = try? await cluster.client() else { return false }
                first = try? await Self.join("a", client, replicas: 3)
                if first == nil { client.close() }
                return first != nil
            }
        )
        let a = try #require(first)
        #expect(await eventually { a.member.openPartitions == Array(0..<Self.partitions) })
        let b = try await Self.join("b", cluster.client(), replicas: 3)
        // Each has its share, by graceful moves.
        #expect(await eventually { !b.member.openPartitions.isEmpty && a.member.openPartitions.count < 4 })
        let shares = Set(a.member.openPartitions + b.member.openPartitions)
        #expect(await eventually { Set(a.member.openPartitions + b.member.openPartitions).count == 4 }, "\(shares)")
        #expect(a.work.closed.values.allSatisfy { $0 == .released })

        // Handed over by either, each is sent once by its owner.
        await Self.handOver(0..<40, through: a.member)
        await Self.handOver(20..<60, through: b.member)
        #expect(await eventually { Set(a.work.sent + b.work.sent).count >= 60 })
        Self.expectEach(of: 0..<60, in: a.work.sent + b.work.sent)

        // What waits with a member that crashes is sent by the other.
        b.work.holdBack()
        let lost = b.member.openPartitions
        await Self.handOver(60..<80, through: a.member)
        b.member.stop()
        b.client.close()
        let clock = ContinuousClock()
        let crash = clock.now
        #expect(await eventually { a.member.openPartitions.count == 4 })
        let took = clock.now - crash
        let after = Set((60..<80).map { "event \($0)" as DeliveryID })
        #expect(await eventually { after.isSubset(of: a.work.sent) })
        Self.expectEach(of: 60..<80, in: a.work.sent.filter(after.contains))
        print("\(lost.count) partitions were taken over in \(took)")
        await a.member.leave()
        #expect(a.member.openPartitions.isEmpty)
        a.client.close()
    }

    /// Each was sent, and nothing more than twice: what is under way when a member is late with its lease, as on a busy
    /// machine, is repeated.
    private static func expectEach(of events: Range<Int>, in sent: [DeliveryID]) {
        let counts = Dictionary(sent.map { ($0, 1) }, uniquingKeysWith: +)
        #expect(Set(counts.keys) == Set(events.map { "event \($0)" as DeliveryID }))
        #expect(counts.values.allSatisfy { $0 <= 2 }, "\(counts.filter { $0.value > 1 })")
    }

    @Test func aFormerOwnersAppendIsRefused() async throws {
        let server = try RealServer()
        let a = try await Self.join("a", server.client(), replicas: 1)
        #expect(await eventually { a.member.openPartitions.count == 4 })
        await Self.handOver(0..<4, through: a.member)
        // Somebody else begins an epoch, as a member does that took the lease while this one slept.
        let stream = JetStream(try await server.client())
        let last = try #require(try await stream.last(of: "test.log.0", in: "test_LOG"))
        let before = try LogRecord(try #require(Self.seal.open(last.payload, of: "test.log.0"))).identity
        let other = LogRecord(
            LogRecord.Identity(epoch: before.epoch + 1, author: 1, index: 0),
            .beginning(
                LogRecord.Beginning(
                    previousEpoch: before.epoch,
                    previousIndex: before.index,
                    member: try #require(MemberName("z")),
                    idleEpochs: 0
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
        // The lease is still its own, so it begins the next epoch.
        #expect(await eventually { a.member.openPartitions.count == 4 })
        a.member.stop()
        a.client.close()
    }

    /// Whoever may write to the servers has no say in the cluster without the router's key.
    @Test func whatNoMemberSaysIsNotHeard() async throws {
        let server = try RealServer()
        let a = try await Self.join("a", server.client(), replicas: 1)
        #expect(await eventually { a.member.openPartitions.count == 4 })
        await Self.handOver(0..<4, through: a.member)
        let outside = try await server.client()
        let passed = Self.seal.passedOver
        for partition in 0..<4 {
            for _ in 0..<3 { _ = try await JetStream(outside).append("test.log.\(partition)", Array("rubbish".utf8)) }
        }
        let batch = HandOverBatch(.init(sender: 1, number: 1), [Array("event 99".utf8)])
        await #expect(throws: NATSError.late) {
            _ = try await outside.request("test.in.0", batch.bytes, within: .milliseconds(200))
        }
        await Self.handOver(4..<8, through: a.member)
        #expect(await eventually { a.work.sent.count == 8 })
        Self.expectEach(of: 0..<8, in: a.work.sent)
        #expect(Self.seal.passedOver >= passed + 13)
        await a.member.leave()
        // The next one begins with the same log.
        for partition in 0..<4 { _ = try await JetStream(outside).append("test.log.\(partition)", []) }
        let b = try await Self.join("b", server.client(), replicas: 1)
        #expect(await eventually { b.member.openPartitions.count == 4 })
        await Self.handOver(8..<12, through: b.member)
        Self.expectEach(of: 8..<12, in: b.work.sent)
        b.member.stop()
        outside.close()
    }

    /// What somebody else puts into a bucket hides nothing that members put there.
    @Test func whatNoMemberPutIntoABucketIsNotThere() async throws {
        let server = try RealServer()
        let stream = JetStream(try await server.client())
        let outside = KeyValueBucket("test", in: stream)
        try await outside.ensure(replicas: 1, history: 8)
        let bucket = SealedBucket("test", in: stream, Self.seal)
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
        // A member's value of another key.
        try await outside.put("other", copy)
        let other = try #require(try await bucket.entry("other"))
        #expect(other.value == nil)
    }

    /// Whoever may write to the servers gets no partition, and whoever holds one goes on.
    @Test func leasesOfOthersTakeNothingOver() async throws {
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
        // The next one begins where the snapshots end, at once: the leases are free.
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
            var random = SystemRandomNumberGenerator()
            _ = try await ClusterMember.prepare(settings, client: client, random: &random)
        }
    }
}
