import CarillonRouter
import Console
import Core
import Delivery
import HTTPClient
import Logging
import Nostr
import Operations
import Pipeline
import Registry
import RouterConfiguration
import Synchronization

/// This router as a member of a cluster: it works on the partitions that it owns, and reaches the owners of the others.
package final class ClusterPart: Membership {
    /// The parts that work on this member's partitions.
    private struct Work {
        let registry: Registry
        let owned: OwnedPartitions
        let follower: RegistryFollower
        let shortening: RegistryShortening
        let logger: Logger
    }

    private let link: ClusterLink
    private let intakes = PartitionIntakes()
    private let clusterRelays: ClusterRelays
    private let memberPeers: MemberPeers
    private let box = MemberBox()
    private let state = Mutex<Work?>(nil)
    package let claim: StoreClaim
    package let gate = RequestGate(now: ClusterMember.bootTime)

    package init(_ link: ClusterLink) {
        (self.link, claim) = (link, link.claim)
        clusterRelays = ClusterRelays(link, partitions: intakes)
        memberPeers = MemberPeers(link, box)
    }

    private var owned: OwnedPartitions? { state.withLock { $0?.owned } }
    package var registryLog: any RegistryLog { RegistryStream(link) }
    package var relays: any SharedRelays { clusterRelays }
    package var peers: any Peers { memberPeers }
    package var requests: any SharedRequests { SharedRequestBucket(link) }
    package var stores: [WorkingStore] { owned?.stores ?? [] }
    package var isServing: Bool { owned.map { !$0.isEmpty } ?? false }
    package var isFull: Bool { box.member?.exchange.isFull ?? false }

    package func isCause(_ event: [UInt8]) -> Bool { box.member?.isKnown(event) ?? false }

    /// Reports messages that no member wrote, until a day after the last one.
    package func issues(at now: Timestamp) -> [RouterStatus.Issue] {
        let seal = link.line.seal
        guard let last = seal.lastPassedOver, now - last < .days(1) else { return [] }
        return [
            RouterStatus.Issue(
                "foreign-messages",
                ["count": "\(seal.passedOver)", "at": last.rfc3339],
                message:
                    "foreign-messages: \(seal.passedOver) messages over NATS that no member of the cluster wrote were "
                    + "passed over, the last at \(last.words)",
                fix: "give the routers their own account at the NATS servers, so that no other client can write to the "
                    + "cluster's subjects; carillon cluster members shows who is a member"
            )
        ]
    }

    package var figures: MemberFigures? {
        status.map { status in
            MemberFigures(
                name: status.name,
                families: status.metrics,
                failed: stores.reduce(0) { $0 + $1.store.outbox.deadLetterCount }
            )
        }
    }

    package func work(with parts: OwnerParts, failed: @escaping @Sendable (any Error) -> Void) {
        let logger = parts.dependencies.logger
        let follower = RegistryFollower(link, parts, isCutOff: failed)
        let owned = OwnedPartitions(link, parts, intakes, clusterRelays, member: box, catchUp: follower.look)
        state.withLock { state in
            state = Work(
                registry: parts.registry,
                owned: owned,
                follower: follower,
                shortening: RegistryShortening(link, parts.registry.store, logger: logger),
                logger: logger
            )
        }
        box.set(
            ClusterMember(
                link.settings,
                link.partitioning,
                line: link.line,
                work: owned,
                log: logger,
                sendingEnds: gate.close(at:)
            )
        )
    }

    package func answer(by survey: MemberSurvey, _ stream: LiveStream) { memberPeers.answer(by: survey, stream) }

    package func adopt(_ settings: PipelineSettings) { intakes.adopt(settings.ofPartition) }

    // MARK: The part

    package func start() throws {
        guard let work = state.withLock(\.self), let member = box.member else { return }
        try work.follower.start()
        try memberPeers.start()
        clusterRelays.begin(for: member)
        work.shortening.begin { [weak self] in self?.box.member.map { $0.openPartitions.contains(0) } }
        member.start()
    }

    /// Leaves the cluster: hands all partitions over, so that no other member must wait for a lease to expire.
    package func stop(_ time: StopBudget) async {
        memberPeers.stop()
        let (member, work) = (box.member, state.withLock(\.self))
        let timeout = Task { [limit = time.part(40)] in
            guard (try? await Task.sleep(for: .milliseconds(limit.milliseconds))) != nil else { return }
            work?.logger.warning("Left the cluster before other members took all partitions: timeout")
            member?.stop()
        }
        await member?.leave()
        timeout.cancel()
        work?.follower.stop()
        work?.owned.abandon()
        box.set(nil)
        state.withLock { $0 = nil }
        await link.close()
    }

    // MARK: Transfer of events

    package func handOver(
        _ event: Event,
        from source: EventSource,
        concerning accounts: [PublicKey]?,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        let partitions =
            accounts.map { Set($0.map { link.partitioning.partition(of: $0.bytes.array) }) }
            ?? Set(0..<link.partitioning.partitions)
        var order: NotificationOrder?
        if case .api(let requested) = source { order = requested }
        guard let member = box.member, let registry = state.withLock({ $0?.registry }), !partitions.isEmpty else {
            order?.add(NotificationOrder.Counts())
            return completion(partitions.isEmpty)
        }
        let item = HandedOverEvent(from: source, registry: registry.sharedPosition, json: event.json).bytes
        let join = HandOverJoin(partitions.count) { completion($0 != nil) }
        for partition in partitions {
            member.exchange.handOver(item, to: partition) { [order] note in
                order?.add(note.flatMap(NotificationOrder.Counts.init(bytes:)))
                join.end([:])
            }
        }
    }
}

// MARK: For operators of the cluster

extension ClusterPart {
    /// Nil once this member has left.
    var status: ClusterStatus? {
        guard let member = box.member, let work = state.withLock(\.self) else { return nil }
        let (leases, now) = member.view
        let living = leases.members.living(at: now)
        let names = Set(living.map(\.name))
        let holders = leases.holders.map { holder in holder.flatMap { names.contains($0) ? $0 : nil } }
        let waiting = work.owned.waiting
        let configuration = living.first { $0.name == link.settings.name }?.configuration
        func described(_ record: MemberRecord, isLiving: Bool) -> ClusterStatus.Member {
            ClusterStatus.Member(
                record,
                partitions: isLiving ? holders.count { $0 == record.name } : 0,
                isLiving: isLiving,
                configuration: configuration
            )
        }
        return ClusterStatus(
            name: memberPeers.name,
            prefix: link.settings.layout.prefix.rawValue,
            isConnected: link.line.client.isConnected,
            registry: Int(clamping: work.registry.sharedPosition),
            members: living.map { described($0, isLiving: true) }
                + leases.members.missing(at: now).map { described($0, isLiving: false) },
            partitions: holders.enumerated().map { partition, holder in
                ClusterStatus.Partition(
                    partition: partition,
                    owner: holder?.rawValue,
                    waiting: waiting[partition],
                    movedTo: leases.members.moves[partition]?.rawValue
                )
            },
            repeats: work.owned.repeats,
            passedOver: link.line.seal.passedOver
        )
    }

    /// Drains this member (it hands all partitions over and takes none), or ends that.
    @Sendable func drain(_ isOn: Bool) throws(OperationError) {
        guard let member = box.member else { throw Self.leaving }
        member.drain(isOn)
    }

    /// Sets the owner of a partition for all members; nil: the default owner.
    @Sendable func move(_ partition: Int, to name: String?) async throws(OperationError) {
        guard let member = box.member else { throw Self.leaving }
        do throws(NATSError) {
            try await member.move(partition, to: name.flatMap { MemberName($0) })
        } catch {
            throw .unavailable(
                Sentence(
                    "cluster-unkept",
                    ["error": "\(error)"],
                    "the cluster's servers did not keep it: \(error)"
                )
            )
        }
    }

    static let leaving = OperationError.unavailable(Sentence("leaving", [:], "this member is leaving the cluster"))
}

/// A holder of the member, which is created after the parts that use it.
final class MemberBox: Sendable {
    private let box = Mutex<ClusterMember?>(nil)

    var member: ClusterMember? { box.withLock(\.self) }

    func set(_ member: ClusterMember?) { box.withLock { $0 = member } }
}
