import Core
import DequeModule
import Glibc
import Logging
import RouterConfiguration
import Storage
import Synchronization

/// Does the work for the partitions that a member owns. Functions are called one at a time, and must return soon.
protocol PartitionWork: Sendable {
    /// This member owns the partition and continues everything queued in `state`. `isHandedOver`: the previous owner
    /// finished its work in progress; if not, queued deliveries may already have been sent.
    func opened(_ partition: Int, _ state: PartitionState, isHandedOver: Bool)
    /// Takes a batch of events. Calls `taken` once, on any thread: with notes for the sender when all results of the
    /// batch were committed, or with nil if the sender must retry.
    func take(_ items: [[UInt8]], in partition: Int, taken: @escaping @Sendable (HandOverNotes?) -> Void)
    /// These transactions are stored. Their deliveries may be sent while ``ClusterMember/maySend(for:)`` is true.
    func committed(_ partition: Int, _ commits: [PartitionLog.Commit])
    /// The partition moves: finish all work in progress, and call ``ClusterMember/drained(_:)``.
    func drain(_ partition: Int)
    /// This member no longer owns the partition. Send no more pushes for it.
    func closed(_ partition: Int, _ error: PartitionLogError)
}

/// One member of a cluster over NATS: performs the actions of ``MemberState``.
final class ClusterMember: Sendable {
    struct Settings: Sendable {
        var name: MemberName
        var layout: ClusterLayout
        var partitions = 32
        var replicas = 3
        /// A hash of the member's configuration.
        var configuration = ""
        /// The member's version of Carillon, for the other members; nil: unknown.
        var version: String?
        /// When it started, in seconds since 1970, for the other members; nil: unknown.
        var startedAt: Int64?
        var capacity = Configuration.Cluster.Capacity()
        /// After this number of registry changes a new snapshot replaces older ones.
        var registryChanges = 10_000
        var times = LeaseTable.Times()
        var log = PartitionLog.Settings()
        var handOver: HandOverQueue.Limits = {
            var limits = HandOverQueue.Limits()
            limits.batches = 8
            return limits
        }()
    }

    private struct Shell {
        var machine: MemberState
        /// Actions in order. The first thread that finds no other thread at it performs them.
        var actions: Deque<MemberState.Action> = []
        var isCarrying = false
        var task: Task<Void, Never>?
        var whenLeft: [CheckedContinuation<Void, Never>] = []
        var hasLeft = false
    }

    let partitioning: Partitioning
    private let logs: JetStreamLogs
    private let leases: LeaseBucket
    /// Hands events over to the owners of partitions, and accepts them for this member's.
    let exchange: HandOverExchange
    private let work: any PartitionWork
    private let log: Logger
    private let sendingEnds: @Sendable (Deadline) -> Void
    private let shell: Mutex<Shell>

    /// Creates missing streams and buckets, and checks the settings that all members share. Throws a ``ClusterError``
    /// during a transfer, unless `isTransfer`.
    static func prepare(
        _ settings: Settings,
        line: MemberLine,
        isTransfer: Bool = false
    ) async throws -> Partitioning {
        let stream = JetStream(line.client)
        try await settings.layout.ensure(in: stream, replicas: settings.replicas, settings.capacity)
        let bucket = KeyValueBucket(settings.layout.leaseBucket, in: stream, line.seal)
        if !isTransfer, let blocker = try await ClusterTransfer.record(in: bucket).record?.blocker { throw blocker }
        try await ClusterRecord.agree(on: settings.partitions, in: bucket)
        guard let partitioning = Partitioning(partitions: settings.partitions, key: line.seal.partitioningKey) else {
            throw ClusterError.unreadableRecord
        }
        return partitioning
    }

    /// A member of a cluster that ``prepare(_:line:isTransfer:)`` found. It takes over no partition before
    /// ``start(pause:)``. `sendingEnds` gets the time from which no push may be sent, after each change, one call at a
    /// time: a thread may be suspended between ``maySend(for:)`` and the send.
    init(
        _ settings: Settings,
        _ partitioning: Partitioning,
        line: MemberLine,
        work: any PartitionWork,
        log: Logger,
        sendingEnds: @escaping @Sendable (Deadline) -> Void = { _ in }
    ) {
        self.partitioning = partitioning
        self.sendingEnds = sendingEnds
        self.work = work
        self.log = log
        // Short, so that the next renewal can succeed after a late one.
        let stream = JetStream(line.client, timeout: .seconds(1))
        leases = LeaseBucket(settings.layout, in: stream, line.seal)
        let refusals = ErrorLog("NATS refuses to keep something", level: .warning, logger: log)
        logs = JetStreamLogs(settings.layout, stream, line.seal) { refusals.occurred($0, at: .now()) }
        let incarnation = UInt64.random(in: 1 ... .max)
        exchange = HandOverExchange(line, settings, sender: incarnation, work: work, log: log, now: Self.bootTime)
        var record = MemberRecord(
            name: settings.name,
            incarnation: incarnation,
            configuration: settings.configuration
        )
        (record.version, record.startedAt) = (settings.version, settings.startedAt)
        shell = Mutex(
            Shell(
                machine: MemberState(
                    record,
                    partitions: settings.partitions,
                    times: settings.times,
                    settings: settings.log
                )
            )
        )
    }

    /// The time since the machine started, including sleep: a lease expires even while its holder sleeps.
    @Sendable static func bootTime() -> Deadline {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Deadline(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Joins. `pause` waits until the next check for due actions; it should return several times per second.
    func start(
        pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .milliseconds(100)) }
    ) {
        exchange.start { [weak self] partition in self?.ownership(of: partition) }
        leases.follow(pause: pause) { [weak self] in
            self?.change { machine, now in
                machine.leasesBecameCurrent(now: now)
                return []
            }
        } changed: { [weak self] change, revision in
            self?.observed(change, revision)
        }
        let task = Task { [weak self] in
            while !Task.isCancelled, let self {
                self.tick()
                await pause()
            }
        }
        shell.withLock { $0.task = task }
    }

    /// Leaves the cluster: hands all partitions over, and returns when other members may take them. Without servers it
    /// waits until ``stop()``.
    func leave() async {
        await withCheckedContinuation { continuation in
            let hasLeft = shell.withLock { shell in
                if !shell.hasLeft { shell.whenLeft.append(continuation) }
                return shell.hasLeft
            }
            if hasLeft { continuation.resume() }
            change { $0.leave(now: $1) }
        }
        stop()
    }

    /// Stops without releasing leases, like a crash. Others take over when the leases expire.
    func stop() {
        let (task, continuations) = shell.withLock { shell in
            defer {
                shell.whenLeft = []
                shell.hasLeft = true
                shell.task = nil
            }
            return (shell.task, shell.whenLeft)
        }
        exchange.end()
        leases.end()
        task?.cancel()
        for continuation in continuations { continuation.resume() }
    }

    // MARK: State

    /// Whether this member may send pushes for a partition now. Call it immediately before each send.
    func maySend(for partition: Int) -> Bool {
        let now = Self.bootTime()
        return shell.withLock { $0.machine.maySend(for: partition, at: now) }
    }

    var openPartitions: [Int] { shell.withLock(\.machine.openPartitions) }
    /// The members and leases as this member sees them, and the time at which to query them.
    var view: (leases: LeaseTable, now: Deadline) {
        let now = Self.bootTime()
        return (shell.withLock(\.machine.leases), now)
    }

    func state(of partition: Int) -> PartitionState? { shell.withLock { $0.machine.state(of: partition) } }

    /// Whether one of the open partitions has accepted an event, among the events that are still remembered.
    func isKnown(_ cause: [UInt8]) -> Bool { shell.withLock { $0.machine.isKnown(cause) } }

    // MARK: Requests of the owner

    /// Queues a transaction to be stored. Returns its number, which a later ``PartitionWork/committed(_:_:)`` contains.
    @discardableResult
    func commit(_ transaction: LogTransaction, to partition: Int) throws(PartitionLogError) -> UInt64 {
        let now = Self.bootTime()
        let number = try shell.withLock { shell throws(PartitionLogError) in
            let (number, actions) = try shell.machine.commit(transaction, to: partition, now: now)
            shell.actions += actions
            return number
        }
        carry()
        return number
    }

    /// Starts draining (hands all partitions over and takes none), or stops it.
    func drain(_ isOn: Bool) { change { $0.drain(isOn, now: $1) } }

    /// Sets the owner of a partition for all members, as long as that owner is alive; nil: the default owner.
    func move(_ partition: Int, to member: MemberName?) async throws(NATSError) {
        try await leases.move(partition, to: member)
    }

    /// Queues relays' read positions to be stored. Does nothing if this member does not own the partition.
    func note(_ marks: [RelayMark], in partition: Int) { change { $0.note(marks, in: partition, now: $1) } }

    /// Reports that a drained partition has finished its work in progress.
    func drained(_ partition: Int) { change { $0.drained(partition, now: $1) } }

    // MARK: The state machine

    private func tick() {
        change { $0.tick(now: $1) }
        exchange.tick()
    }

    private func ownership(of partition: Int) -> HandOverExchange.Ownership? {
        let now = Self.bootTime()
        return shell.withLock { shell in
            guard let last = shell.machine.lastCommitted(in: partition) else { return nil }
            let hasLease = shell.machine.maySend(for: partition, at: now)
            return HandOverExchange.Ownership(lastCommit: last, hasLease: hasLease)
        }
    }

    private func observed(_ change: LeaseBucket.Change, _ revision: UInt64) {
        self.change { machine, now in
            switch change {
            case .member(let name, let record):
                machine.observed(member: name, record, revision: revision, now: now)
                return []
            case .lease(let partition, let record):
                return machine.observed(partition: partition, record, revision: revision, now: now)
            case .move(let partition, let member):
                machine.observed(move: partition, to: member)
                return []
            }
        }
    }

    private func change(_ body: (inout MemberState, Deadline) -> [MemberState.Action]) {
        let now = Self.bootTime()
        shell.withLock { shell in
            shell.actions += body(&shell.machine, now)
            sendingEnds(shell.machine.sendingEnds)
        }
        carry()
    }

    /// Performs the queued actions in order. If another thread already does so, it performs these too.
    private func carry() {
        while true {
            let action = shell.withLock { shell -> MemberState.Action? in
                guard !shell.isCarrying, let action = shell.actions.popFirst() else { return nil }
                shell.isCarrying = true
                return action
            }
            guard let action else { return }
            carry(action)
            shell.withLock { $0.isCarrying = false }
        }
    }

    private func carry(_ action: MemberState.Action) {
        switch action {
        case .announce(let record):
            Task { [leases] in await leases.announce(record) }
        case .writeLease(let partition, let record, let over):
            Task { [leases] in
                let result = await leases.write(record, of: partition, over: over)
                self.change { $0.wroteLease(partition: partition, record, result, now: $1) }
            }
        case .readLease(let partition):
            Task { await self.read(partition) }
        case .ask(let partition, let question, let opening, let ticket):
            Task { [logs] in
                let answer = await logs.answer(question, partition)
                self.change {
                    $0.answered(partition: partition, opening: opening, ticket: ticket, answer, now: $1)
                }
            }
        case .opened(let partition): opened(partition)
        case .committed(let partition, let commits):
            work.committed(partition, commits)
            guard let last = commits.last else { return }
            exchange.committed(partition, through: last.number)
        case .drain(let partition):
            exchange.drain(partition)
            work.drain(partition)
        case .closed(let partition, let error):
            exchange.close(partition)
            switch error {
            case .damaged, .otherFormat:
                log.error("Failed to open a partition", metadata: ["partition": "\(partition)", "why": "\(error)"])
            default:
                log.info("Closed a partition", metadata: ["partition": "\(partition)", "why": "\(error)"])
            }
            work.closed(partition, error)
        case .left:
            let continuations = shell.withLock { shell in
                defer { shell.whenLeft = [] }
                shell.hasLeft = true
                return shell.whenLeft
            }
            for continuation in continuations { continuation.resume() }
        }
    }

    private func opened(_ partition: Int) {
        guard let state = state(of: partition) else { return }
        log.info(
            "Opened a partition",
            metadata: ["partition": "\(partition)", "epoch": "\(state.identity.epoch)"]
        )
        exchange.prepare(partition)
        let isHandedOver = shell.withLock { $0.machine.leases.wasHandedOver(partition) }
        work.opened(partition, state, isHandedOver: isHandedOver)
        exchange.open(partition)
    }

    private func read(_ partition: Int) async {
        guard let (record, revision) = await leases.lease(of: partition) else {
            return change { machine, _ in
                machine.leaseReadFailed(partition: partition)
                return []
            }
        }
        change { $0.observed(partition: partition, record, revision: revision, now: $1) }
    }
}
