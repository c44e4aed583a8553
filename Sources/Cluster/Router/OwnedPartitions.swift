import CarillonRouter
import Delivery
import Dispatch
import Logging
import Operations
import Pipeline
import Registry
import RouterConfiguration
import Storage
import Synchronization

/// The partitions that this member owns. Each has a runner, which is created when its log is open and ends when another
/// member takes the partition over.
final class OwnedPartitions: Sendable {
    private enum Entry {
        /// The runner is being made; until then the store applies the log's records.
        case opening(LoggedStore?)
        case running(PartitionRunner, LoggedStore)
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        /// Counts the openings of each partition, so that results of earlier ones are discarded.
        var openings: [Int: Int] = [:]
        /// Error logs of partitions that could not be opened so far.
        var failures: [Int: ErrorLog] = [:]
        /// Deliveries that were due at the takeover from a member that did not drain.
        var repeats = 0
    }

    /// The delay before a partition that could not be opened is retried.
    private static let pause = DispatchTimeInterval.milliseconds(250)

    private let link: ClusterLink
    private let parts: OwnerParts
    private let intakes: PartitionIntakes
    private let relays: ClusterRelays
    private let box: MemberBox
    private let catchUp: @Sendable () -> Void
    private let making = DispatchQueue(label: "carillon.cluster-partitions")
    private let state = Mutex(State())

    /// `catchUp` schedules a check for registry changes.
    init(
        _ link: ClusterLink,
        _ parts: OwnerParts,
        _ intakes: PartitionIntakes,
        _ relays: ClusterRelays,
        member box: MemberBox,
        catchUp: @escaping @Sendable () -> Void
    ) {
        (self.link, self.parts, self.intakes) = (link, parts, intakes)
        (self.relays, self.box, self.catchUp) = (relays, box, catchUp)
    }

    private var registry: Registry { parts.registry }
    private var member: ClusterMember? { box.member }

    /// The number of deliveries that may have been sent twice, under the same ID: the former owner left without
    /// draining.
    var repeats: Int { state.withLock(\.repeats) }

    var isEmpty: Bool { state.withLock(\.entries.isEmpty) }

    /// Their stores, for operators and maintenance.
    var stores: [WorkingStore] {
        state.withLock(\.entries).sorted { $0.key < $1.key }.compactMap { partition, entry in
            guard case .running(let runner, let store) = entry else { return nil }
            return WorkingStore(.partition(partition), runner.courier, store, store.reader)
        }
    }

    /// The queue length of each running partition.
    var waiting: [Int: Int] {
        state.withLock(\.entries).compactMapValues { entry in
            if case .running(let runner, _) = entry { runner.courier.waiting } else { nil }
        }
    }

    /// Ends all runners immediately.
    func abandon() {
        let entries = state.withLock { state in
            defer { state.entries = [:] }
            return state.entries.values
        }
        for case .running(let runner, _) in entries { runner.abandon() }
    }
}

extension OwnedPartitions: PartitionWork {
    func opened(_ partition: Int, _ waiting: PartitionState, isHandedOver: Bool) {
        let now = parts.dependencies.now()
        let repeats = isHandedOver ? 0 : waiting.waiting.values.count { $0.due.map { $0 <= now } ?? true }
        let opening = state.withLock { state in
            state.entries[partition] = .opening(nil)
            state.openings[partition, default: 0] += 1
            state.repeats += repeats
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
            // Queued deliveries may be for devices that this member does not know yet.
            try registry.catchUp()
            let store = try LoggedStore(
                waiting,
                limit: parts.maxWaiting,
                deadLetters: link.deadLetters
            ) {
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
            runner.courier.start()
            state.withLock { $0.failures.removeValue(forKey: partition) }?.passed(at: parts.dependencies.now())
        } catch {
            failureLog(of: partition).occurred(error, at: parts.dependencies.now())
            making.asyncAfter(deadline: .now() + Self.pause) { self.make(partition, waiting, opening) }
        }
    }

    private func failureLog(of partition: Int) -> ErrorLog {
        state.withLock { state in
            if let known = state.failures[partition] { return known }
            let made = ErrorLog(
                "A partition cannot be served; trying again",
                metadata: ["partition": "\(partition)"],
                logger: parts.dependencies.logger
            )
            state.failures[partition] = made
            return made
        }
    }

    func take(_ items: [[UInt8]], in partition: Int, taken: @escaping @Sendable (HandOverNotes?) -> Void) {
        guard case .running(let runner, _) = state.withLock({ $0.entries[partition] }) else { return taken(nil) }
        let events = items.enumerated().compactMap { place, item in HandedOverEvent(item).map { (place, $0) } }
        // With an older registry, an event might match no account here although the sender knows one.
        let position = registry.sharedPosition
        guard events.allSatisfy({ $0.1.registry <= position }) else {
            catchUp()
            return taken(nil)
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

/// The inputs of this member's pipelines, for events and settings that concern all of them.
final class PartitionIntakes: Sendable {
    private let intakes = Mutex<[Int: Intake]>([:])

    func set(_ intake: Intake?, of partition: Int) { intakes.withLock { $0[partition] = intake } }

    /// Passes fetched events to all pipelines.
    func learn(_ events: [[UInt8]]) {
        for intake in intakes.withLock({ Array($0.values) }) {
            intake.submit(Submission(events: events, source: .relay(.fetched)) { _ in })
        }
    }

    func adopt(_ settings: PipelineSettings) {
        for intake in intakes.withLock({ Array($0.values) }) { intake.adopt(settings) { _ in } }
    }
}
