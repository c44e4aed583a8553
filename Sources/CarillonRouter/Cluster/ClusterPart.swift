import Cluster
import Delivery
import Dispatch
import Logging
import NATS
import Nostr
import Operations
import Pipeline
import Registry
import Storage
import Synchronization
import Units

/// This router as a member of a cluster: the partitions that it owns, and the way to the owners of the others.
final class ClusterPart: RouterPart {
    private enum Entry {
        /// The runner is being made; the store takes what the log says meanwhile.
        case opening(LoggedStore?)
        case running(PartitionRunner, LoggedStore)
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        /// Numbers the times that a partition was opened: what was made for an earlier one is of no use.
        var openings: [Int: Int] = [:]
        /// Of partitions that could not be served since they were opened.
        var failures: [Int: FailureLog] = [:]
        var news: NATSClient.Subscription?
        var follower: Task<Void, Never>?
        /// A look at the registry is ordered and has not begun.
        var willLook = false
    }

    /// After a partition could not be opened.
    private static let pause = DispatchTimeInterval.seconds(1)

    private let link: ClusterLink
    private let stream: RegistryStream
    private let parts: PartitionParts
    private let intakes: PartitionIntakes
    private let relays: ClusterRelays
    private let shortening: RegistryShortening
    private let isCutOff: @Sendable (any Error) -> Void
    private let following = DispatchQueue(label: "carillon.cluster-registry")
    private let making = DispatchQueue(label: "carillon.cluster-partitions")
    private let state = Mutex(State())
    private let box = MemberBox()
    private let trouble: Logger
    private let registryTrouble: FailureLog
    private let pause: @Sendable () async throws -> Void
    /// The other members, for what operators ask.
    let peers: MemberPeers

    /// `pause` waits until the registry is looked at although nobody said that it changed, a second.
    /// `isCutOff` is called when this member is too far behind for the registry's log, and has to begin anew.
    init(
        _ link: ClusterLink,
        _ parts: PartitionParts,
        intakes: PartitionIntakes,
        relays: ClusterRelays,
        isCutOff: @escaping @Sendable (any Error) -> Void,
        pause: @escaping @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(1)) }
    ) {
        self.pause = pause
        self.isCutOff = isCutOff
        shortening = RegistryShortening(link, parts.registry.store, logger: parts.logger)
        self.link = link
        self.parts = parts
        self.intakes = intakes
        self.relays = relays
        trouble = parts.logger
        registryTrouble = FailureLog(
            "The cluster's registry cannot be followed; trying again",
            level: .warning,
            logger: parts.logger
        )
        peers = MemberPeers(link, box)
        stream = RegistryStream(link.settings.layout, link.client)
        var random = SystemRandomNumberGenerator()
        box.set(
            ClusterMember(
                link.settings,
                link.partitioning,
                client: link.client,
                work: self,
                random: &random,
                log: parts.logger
            )
        )
    }

    private var member: ClusterMember? { box.member }

    var name: String { link.settings.name.rawValue }

    /// Whether it owns anything.
    var isServing: Bool { state.withLock { !$0.entries.isEmpty } }

    /// Whether sources should wait: the owner of some partition has enough before it.
    var isFull: Bool { member?.isFull ?? false }

    /// Those of the partitions that it owns.
    var couriers: [Courier] {
        state.withLock { state in
            state.entries.values.compactMap { if case .running(let runner, _) = $0 { runner.courier } else { nil } }
        }
    }

    /// What the partitions that it owns have, for operators.
    var stores: [WorkingStore] {
        state.withLock(\.entries).sorted { $0.key < $1.key }.compactMap { partition, entry in
            guard case .running(let runner, let store) = entry else { return nil }
            return WorkingStore(.partition(partition), runner.courier, store, store.reader)
        }
    }

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
        let entries = state.withLock(\.entries)
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
                let waiting: Int? =
                    switch entries[partition] {
                    case .running(let runner, _)?: runner.waiting
                    case .opening?, nil: nil
                    }
                return ClusterStatus.Partition(
                    partition: partition,
                    owner: holder?.rawValue,
                    waiting: waiting,
                    movedTo: member.move(of: partition)?.rawValue
                )
            }
        )
    }

    // MARK: The part

    func start() throws {
        let news = try stream.news { [weak self] in self?.catchUp() }
        let follower = Task { [weak self, pause] in
            while (try? await pause()) != nil { self?.catchUp() }
        }
        state.withLock { ($0.news, $0.follower) = (news, follower) }
        try peers.start()
        guard let member else { return }
        relays.begin(for: member)
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
        let runners = state.withLock { state in
            state.follower?.cancel()
            (state.news, state.follower) = (nil, nil)
            defer { state.entries = [:] }
            return state.entries.values
        }
        for case .running(let runner, _) in runners { runner.abandon() }
        box.set(nil)
        await link.close()
    }

    /// One look is enough for all news that come before it begins.
    private func catchUp() {
        let isOrdered = state.withLock { state in
            defer { state.willLook = true }
            return state.willLook
        }
        guard !isOrdered else { return }
        following.async { [weak self, parts, registryTrouble] in
            self?.state.withLock { $0.willLook = false }
            do {
                try parts.registry.catchUp()
                registryTrouble.passed(at: parts.now())
            } catch let error as RegistryStoreError where error.isCutOff {
                self?.isCutOff(error)
            } catch {
                registryTrouble.occurred(error, at: parts.now())
            }
        }
    }
}

// MARK: Handing over

extension ClusterPart: PartitionOwners {
    func handOver(
        _ event: Event,
        from source: EventSource,
        concerning accounts: [PublicKey],
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        let partitions = Set(accounts.map { link.partitioning.partition(of: $0.bytes.array) })
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

// MARK: Owning

extension ClusterPart: PartitionWork {
    func opened(_ partition: Int, _ waiting: PartitionState) {
        let opening = state.withLock { state in
            state.entries[partition] = .opening(nil)
            state.openings[partition, default: 0] += 1
            return state.openings[partition] ?? 0
        }
        relays.take(partition, waiting.relays)
        making.async { self.make(partition, waiting, opening) }
    }

    private func isCurrent(_ partition: Int, _ opening: Int) -> Bool {
        state.withLock { $0.openings[partition] == opening && $0.entries[partition] != nil }
    }

    private func make(_ partition: Int, _ waiting: PartitionState, _ opening: Int) {
        guard isCurrent(partition, opening), let member else { return }
        do {
            // What waits may be for devices that this member has not heard of yet.
            try parts.registry.catchUp()
            let store = try LoggedStore(waiting, limit: parts.limit, deadLetters: parts.deadLetters) {
                [weak member] transaction throws(PartitionLogError) in
                guard let member else { throw .notOpen }
                return try member.commit(transaction, to: partition)
            }
            let isWanted = state.withLock { state in
                guard state.openings[partition] == opening, state.entries[partition] != nil else { return false }
                state.entries[partition] = .opening(store)
                return true
            }
            guard isWanted else { return }
            let runner = try PartitionRunner(
                store,
                accepted: waiting.knownCauses,
                of: partition,
                in: link.partitioning,
                parts,
                maySend: { [weak member] in member?.maySend(for: partition) ?? false }
            )
            let isStillWanted = state.withLock { state in
                guard state.openings[partition] == opening, state.entries[partition] != nil else { return false }
                state.entries[partition] = .running(runner, store)
                return true
            }
            guard isStillWanted else { return runner.abandon() }
            intakes.set(runner.intake, of: partition)
            runner.start()
            state.withLock { $0.failures.removeValue(forKey: partition) }?.passed(at: parts.now())
        } catch {
            failureLog(of: partition).occurred(error, at: parts.now())
            making.asyncAfter(deadline: .now() + Self.pause) { self.make(partition, waiting, opening) }
        }
    }

    private func failureLog(of partition: Int) -> FailureLog {
        state.withLock { state in
            if let known = state.failures[partition] { return known }
            let made = FailureLog(
                "A partition cannot be served; trying again",
                metadata: ["partition": "\(partition)"],
                logger: trouble
            )
            state.failures[partition] = made
            return made
        }
    }

    func take(_ items: [[UInt8]], in partition: Int, taken: @escaping @Sendable (Bool) -> Void) {
        guard case .running(let runner, _) = state.withLock({ $0.entries[partition] }) else { return taken(false) }
        let events = items.compactMap { HandedOverEvent($0) }
        // Otherwise an event might concern nobody here that the sender knows to concern somebody.
        let position = parts.registry.clusterPosition
        guard events.allSatisfy({ $0.registry <= position }) else {
            catchUp()
            return taken(false)
        }
        runner.take(events, taken: taken)
    }

    func committed(_ partition: Int, _ commits: [PartitionLog.Commit]) {
        switch state.withLock({ $0.entries[partition] }) {
        case .opening(let store)?: store?.committed(commits)
        case .running(_, let store)?: store.committed(commits)
        case nil: break
        }
    }

    func drain(_ partition: Int) {
        let entry = state.withLock { $0.entries[partition] }
        Task { [member, relays] in
            await relays.leave(partition)
            if case .running(let runner, _) = entry { await runner.drain() }
            member?.drained(partition)
        }
    }

    func closed(_ partition: Int, _ error: PartitionLogError) {
        relays.leave(partition)
        intakes.set(nil, of: partition)
        let entry = state.withLock { state in
            state.failures[partition] = nil
            return state.entries.removeValue(forKey: partition)
        }
        switch entry {
        case .opening(let store)?: store?.close()
        case .running(let runner, _)?: runner.abandon()
        case nil: break
        }
    }
}

/// The member, which is made for the part that it works for.
final class MemberBox: Sendable {
    private let box = Mutex<ClusterMember?>(nil)

    var member: ClusterMember? { box.withLock(\.self) }

    func set(_ member: ClusterMember?) { box.withLock { $0 = member } }
}

/// The pipelines of the partitions that this member owns, for what all of them learn from.
final class PartitionIntakes: Sendable {
    private let intakes = Mutex<[Int: Intake]>([:])

    func set(_ intake: Intake?, of partition: Int) { intakes.withLock { $0[partition] = intake } }

    /// Events that relays were asked for.
    func learn(_ events: [[UInt8]]) {
        for intake in intakes.withLock({ Array($0.values) }) {
            intake.submit(Submission(events: events, source: .relay(.fetched)) { _ in })
        }
    }

    func adopt(_ settings: PipelineSettings) {
        for intake in intakes.withLock({ Array($0.values) }) { intake.adopt(settings) { _ in } }
    }
}

/// The registry's log over JetStream.
struct StreamedRegistryLog: RegistryLog {
    let stream: RegistryStream
    let snapshots: RegistrySnapshots

    init(_ link: ClusterLink) {
        stream = RegistryStream(link.settings.layout, link.client)
        snapshots = RegistrySnapshots(link.settings.layout, link.client)
    }

    func lastPosition() throws -> UInt64 { try snapshots.logState().last }
    func snapshotPosition() throws -> UInt64? { try snapshots.head()?.position }
    func readSnapshot(to file: String) throws -> Bool { try snapshots.read(to: file) }

    func append(_ record: [UInt8], id: String, after position: UInt64) throws -> UInt64? {
        try stream.append(record, id: id, after: position)
    }

    func records(after position: UInt64) throws -> [(position: UInt64, bytes: [UInt8])] {
        try stream.records(after: position)
    }
}
