import Cluster
import Delivery
import HTTPLanes
import Logging
import NATS
import Nostr
import Operations
import Pipeline
import Registry
import Synchronization
import Units

/// This router as a member of a cluster: the partitions that it owns, and the way to the owners of the others.
final class ClusterPart: RouterPart {
    private let membership: ClusterMembership
    private let parts: PartitionParts
    private let owned: OwnedPartitions
    private let shortening: RegistryShortening
    private let follower: RegistryFollower
    private let box = MemberBox()
    private let trouble: Logger
    /// The other members, for what operators ask.
    let peers: MemberPeers

    /// `pause` waits until the registry is looked at although nobody said that it changed, a second.
    /// `isCutOff` is called when this member is too far behind for the registry's log, and has to begin anew.
    init(
        _ membership: ClusterMembership,
        _ parts: PartitionParts,
        gate: RequestGate,
        isCutOff: @escaping @Sendable (any Error) -> Void,
        pause: @escaping @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(1)) }
    ) {
        let link = membership.link
        shortening = RegistryShortening(membership, parts.registry.store, logger: parts.logger)
        self.membership = membership
        self.parts = parts
        trouble = parts.logger
        peers = MemberPeers(link, membership.line, box)
        let follower = RegistryFollower(membership, parts, isCutOff: isCutOff, pause: pause)
        self.follower = follower
        owned = OwnedPartitions(
            link.partitioning,
            parts,
            membership.intakes,
            membership.relays,
            member: box,
            catchUp: follower.look
        )
        var random = SystemRandomNumberGenerator()
        box.set(
            ClusterMember(
                link.settings,
                link.partitioning,
                line: membership.line,
                work: owned,
                random: &random,
                log: parts.logger,
                sendingEnds: gate.close(at:)
            )
        )
    }

    private var link: ClusterLink { membership.link }
    private var member: ClusterMember? { box.member }

    /// Requests for notifications, as all members know them.
    var sharedRequests: SharedRequestBucket { SharedRequestBucket(link, membership.line) }

    var name: String { link.settings.name.rawValue }

    /// Messages that no member wrote, unless the last one came more than a day ago.
    func foreignMessages(at now: Timestamp) -> (count: Int, last: Timestamp)? {
        let seal = membership.line.seal
        guard let last = seal.lastPassedOver, now - last < .days(1) else { return nil }
        return (seal.passedOver, last)
    }

    /// Whether it owns anything.
    var isServing: Bool { !owned.isEmpty }

    /// Whether sources should wait: the owner of some partition has enough before it.
    var isFull: Bool { member?.isFull ?? false }

    /// Those of the partitions that it owns.
    var couriers: [Courier] { owned.couriers }

    /// What the partitions that it owns have, for operators.
    var stores: [WorkingStore] { owned.stores }

    /// Deliveries in them that failed for good.
    var failed: Int { stores.reduce(0) { $0 + $1.store.deadLetterCount } }

    /// Deliveries in them that wait.
    var waiting: Int { stores.reduce(0) { $0 + $1.store.count } }

    /// Whether one of the partitions that it owns has accepted an event lately.
    func isCause(_ event: [UInt8]) -> Bool { member?.isKnown(event) ?? false }

    /// Nil once it has left.
    var status: ClusterStatus? {
        guard let member else { return nil }
        let living = member.livingMembers
        let names = Set(living.map(\.name))
        let holders = member.holders.map { holder in holder.flatMap { names.contains($0) ? $0 : nil } }
        let waiting = owned.waiting
        let configuration = living.first { $0.name == link.settings.name }?.configuration
        return ClusterStatus(
            name: link.settings.name.rawValue,
            prefix: link.settings.layout.prefix.rawValue,
            isConnected: link.client.isConnected,
            registry: Int(clamping: parts.registry.clusterPosition),
            members: living.map { found in
                ClusterStatus.Member(
                    found,
                    partitions: holders.count { $0 == found.name },
                    isLiving: true,
                    configuration: configuration
                )
            }
                + member.missingMembers.map {
                    ClusterStatus.Member($0, partitions: 0, isLiving: false, configuration: configuration)
                },
            partitions: holders.enumerated().map { partition, holder in
                ClusterStatus.Partition(
                    partition: partition,
                    owner: holder?.rawValue,
                    waiting: waiting[partition],
                    movedTo: member.move(of: partition)?.rawValue
                )
            },
            repeats: owned.repeats,
            passedOver: membership.line.seal.passedOver
        )
    }

    /// The partitions that it owns go by these settings from now on.
    func adopt(_ settings: PipelineSettings) { membership.intakes.adopt(settings.ofPartition) }

    // MARK: The part

    func start() throws {
        try follower.start()
        try peers.start()
        guard let member else { return }
        membership.relays.begin(for: member)
        shortening.begin { [weak self] in self?.member.map { $0.openPartitions.contains(0) } }
        member.start()
    }

    /// Hands all partitions over, so that nobody has to wait for a lease to end.
    func stop(_ time: StopBudget) async {
        peers.stop()
        let patience = time.part(40)
        let impatience = Task { [member, trouble] in
            guard (try? await Task.sleep(for: .milliseconds(patience.milliseconds))) != nil else { return }
            trouble.warning("Leaving the cluster without handing everything over: that takes too long")
            member?.stop()
        }
        await member?.leave()
        impatience.cancel()
        follower.stop()
        owned.abandon()
        box.set(nil)
        await link.close()
    }
}

// MARK: Handing over

extension ClusterPart: PartitionOwners {
    func handOver(
        _ event: Event,
        from source: EventSource,
        concerning accounts: [PublicKey]?,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        let partitions =
            accounts.map { Set($0.map { link.partitioning.partition(of: $0.bytes.array) }) }
            ?? Set(0..<link.partitioning.partitions)
        guard let member, !partitions.isEmpty else { return completion(partitions.isEmpty) }
        let item = HandedOverEvent(from: source, registry: parts.registry.clusterPosition, json: event.json).bytes
        let join = HandOverJoin(partitions.count, ended: completion)
        for partition in partitions { member.handOver(item, to: partition) { join.end(true) } }
    }
}

/// Waits for several, and says once whether all went well.
final class HandOverJoin: Sendable {
    private let state: Mutex<(open: Int, isWhole: Bool)>
    private let ended: @Sendable (Bool) -> Void

    init(_ count: Int, ended: @escaping @Sendable (Bool) -> Void) {
        state = Mutex((count, true))
        self.ended = ended
        if count == 0 { ended(true) }
    }

    func end(_ isWell: Bool) {
        let result = state.withLock { state -> Bool? in
            state.open -= 1
            state.isWhole = state.isWhole && isWell
            return state.open == 0 ? state.isWhole : nil
        }
        if let result { ended(result) }
    }
}

/// The member, which is made for the part that it works for.
final class MemberBox: Sendable {
    private let box = Mutex<ClusterMember?>(nil)

    var member: ClusterMember? { box.withLock(\.self) }

    func set(_ member: ClusterMember?) { box.withLock { $0 = member } }
}
