import DequeModule
import Glibc
import Logging
import NATS
import Synchronization
import Units

/// What runs on the partitions that a member owns. All functions are called one at a time, and must return soon.
package protocol PartitionWork: Sendable {
    /// The partition is this member's. Everything in `state` that waits goes on here. `isHandedOver`: whoever had it
    /// before finished what was under way; else what waits may have been sent.
    func opened(_ partition: Int, _ state: PartitionState, isHandedOver: Bool)
    /// Takes events that a member hands over. Calls `taken` once, on any thread: true when everything that they lead to
    /// was committed, false when they are to come again.
    func take(_ items: [[UInt8]], in partition: Int, taken: @escaping @Sendable (Bool) -> Void)
    /// These are kept; their deliveries may be sent as long as ``ClusterMember/maySend(for:)`` says so.
    func committed(_ partition: Int, _ commits: [PartitionLog.Commit])
    /// The partition moves: finish what is under way, and call ``ClusterMember/drained(_:)``.
    func drain(_ partition: Int)
    /// The partition is no longer this member's. Send nothing more for it.
    func closed(_ partition: Int, _ error: PartitionLogError)
}

/// One member of a cluster over NATS: the shell around ``MemberState``.
package final class ClusterMember: Sendable {
    package struct Settings: Sendable {
        package var name: MemberName
        package var layout: ClusterLayout
        package var partitions = 32
        package var replicas = 3
        /// A hash of the member's configuration.
        package var configuration = ""
        /// Of Carillon, for the other members; nil: not said.
        package var version: String?
        /// In seconds since 1970, for the other members; nil: not said.
        package var startedAt: Int64?
        /// The newest version that it reads and writes; an older one than it could lets older members come back.
        package var wire = LogRecord.formatVersion
        package var capacity = ClusterLayout.Capacity()
        /// After so many changes of the registry a snapshot takes the place of older ones.
        package var registryChanges = 10_000
        package var times = LeaseTable.Times()
        package var log = PartitionLog.Settings()
        package var handOver: HandOverQueue.Limits = {
            var limits = HandOverQueue.Limits()
            limits.batches = 8
            return limits
        }()

        package init(name: MemberName, layout: ClusterLayout) {
            self.name = name
            self.layout = layout
        }
    }

    private struct Shell {
        var machine: MemberState
        /// Actions in order; whoever finds nobody carrying carries them.
        var actions: Deque<MemberState.Action> = []
        var isCarrying = false
        var task: Task<Void, Never>?
        var whenLeft: [CheckedContinuation<Void, Never>] = []
        var hasLeft = false
    }

    package let partitioning: Partitioning
    private let logs: JetStreamLogs
    private let leases: LeaseBucket
    private let exchange: HandOverExchange
    private let work: any PartitionWork
    private let log: Logger
    private let now: @Sendable () -> Deadline
    private let sendingEnds: @Sendable (Deadline) -> Void
    private let shell: Mutex<Shell>

    /// Makes streams and buckets where they are missing, and agrees with the other members. Throws a ``ClusterError``
    /// while the cluster is moved, unless this is what moves it.
    package static func prepare(
        _ settings: Settings,
        client: NATSClient,
        isTransfer: Bool = false,
        random: inout some RandomNumberGenerator
    ) async throws -> Partitioning {
        let stream = JetStream(client)
        try await settings.layout.ensure(in: stream, replicas: settings.replicas, settings.capacity)
        let bucket = KeyValueBucket(settings.layout.leaseBucket, in: stream)
        if !isTransfer, let obstacle = try await ClusterTransfer.record(in: bucket).record?.obstacle { throw obstacle }
        return try await ClusterRecord.find(
            in: bucket,
            partitions: settings.partitions,
            random: &random
        )
    }

    /// A member of a cluster that ``prepare(_:client:random:)`` found. Nothing is taken over before ``start(pause:)``.
    /// `sendingEnds` gets the time from which nothing may be sent, after each change, one call at a time: a thread can
    /// stand still between a question to ``maySend(for:)`` and the sending. `now` must not stop while the machine
    /// sleeps.
    package init(
        _ settings: Settings,
        _ partitioning: Partitioning,
        line: MemberLine,
        work: any PartitionWork,
        random: inout some RandomNumberGenerator,
        log: Logger,
        sendingEnds: @escaping @Sendable (Deadline) -> Void = { _ in },
        now: @escaping @Sendable () -> Deadline = ClusterMember.bootTime
    ) {
        self.partitioning = partitioning
        self.sendingEnds = sendingEnds
        self.work = work
        self.log = log
        self.now = now
        // The lease goes on being renewed while one renewal is late.
        let stream = JetStream(line.client, patience: .seconds(1))
        leases = LeaseBucket(settings.layout, in: stream, line.seal)
        logs = JetStreamLogs(settings.layout, stream, line.seal) { error in
            log.warning("NATS refuses to keep something", metadata: ["error": "\(error)"])
        }
        let incarnation = UInt64.random(in: 1 ... .max, using: &random)
        exchange = HandOverExchange(line, settings, sender: incarnation, work: work, log: log, now: now)
        var record = MemberRecord(
            name: settings.name,
            incarnation: incarnation,
            wire: settings.wire,
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

    /// The time since the machine started, sleep included: a lease does not live longer because its holder slept.
    @Sendable package static func bootTime() -> Deadline {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Deadline(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Joins. `pause` waits until the next look at what is due, which should come several times a second.
    package func start(
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

    /// Hands all partitions over, and returns when others may take them. Without servers that is never; ``stop()`` ends
    /// it.
    package func leave() async {
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

    /// Stops without a word, as a crash does. Others take over when the leases have not changed for a while.
    package func stop() {
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

    // MARK: What is known

    /// Whether something may be sent for a partition at this moment. To be asked immediately before each send.
    package func maySend(for partition: Int) -> Bool {
        let now = now()
        return shell.withLock { $0.machine.maySend(for: partition, at: now) }
    }

    package var openPartitions: [Int] { shell.withLock(\.machine.openPartitions) }
    package var holders: [MemberName?] { shell.withLock(\.machine.holders) }

    package var livingMembers: [MemberRecord] {
        let now = now()
        return shell.withLock { $0.machine.livingMembers(at: now) }
    }

    /// Members that lived of late and went away without a word.
    package var missingMembers: [MemberRecord] {
        let now = now()
        return shell.withLock { $0.machine.missingMembers(at: now) }
    }

    /// Where an operator wants a partition; nil: nobody said.
    package func move(of partition: Int) -> MemberName? { shell.withLock { $0.machine.move(of: partition) } }

    /// The newest version that all living members read.
    package var wire: Int {
        let now = now()
        return shell.withLock { $0.machine.wire(at: now) }
    }

    package func state(of partition: Int) -> PartitionState? { shell.withLock { $0.machine.state(of: partition) } }

    /// Whether one of the open partitions has accepted an event, as far back as that is remembered.
    package func isKnown(_ cause: [UInt8]) -> Bool { shell.withLock { $0.machine.isKnown(cause) } }

    // MARK: What an owner wants

    /// Keeps a transaction. Returns its number, which ``PartitionWork/committed(_:_:)`` names when it is kept.
    @discardableResult
    package func commit(_ transaction: LogTransaction, to partition: Int) throws(PartitionLogError) -> UInt64 {
        let now = now()
        let number = try shell.withLock { shell throws(PartitionLogError) in
            let (number, actions) = try shell.machine.commit(transaction, to: partition, now: now)
            shell.actions += actions
            return number
        }
        carry()
        return number
    }

    /// Hands all partitions over and takes none, without leaving; or takes its share again.
    package func drain(_ isOn: Bool) { change { $0.drain(isOn, now: $1) } }

    /// Tells all members that a partition is to be at that one while it lives; nil: wherever it belongs.
    package func move(_ partition: Int, to member: MemberName?) async throws(NATSError) {
        try await leases.move(partition, to: member)
    }

    /// Keeps how far relays were read whose reader a partition's owner is; nothing where this member is not it.
    package func note(_ marks: [RelayMark], in partition: Int) { change { $0.note(marks, in: partition, now: $1) } }

    /// What was under way when the partition was to be drained is finished.
    package func drained(_ partition: Int) { change { $0.drained(partition, now: $1) } }

    // MARK: Handing over

    /// Whether whoever reads events for a partition should wait.
    package func isFull(_ partition: Int) -> Bool { exchange.isFull(partition) }

    /// Whether whoever reads events should wait: some owner has too many before it.
    package var isFull: Bool { exchange.isFull }

    /// Hands an event to the owner of a partition, wherever it is. Calls `kept` once when everything that it leads to
    /// is kept; the reader's mark may move past it then.
    package func handOver(_ item: [UInt8], to partition: Int, kept: @escaping @Sendable () -> Void) {
        exchange.handOver(item, to: partition, kept: kept)
    }

    // MARK: The machine

    private func tick() {
        change { $0.tick(now: $1) }
        exchange.tick()
    }

    private func ownership(of partition: Int) -> HandOverExchange.Ownership? {
        let now = now()
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
        let now = now()
        shell.withLock { shell in
            shell.actions += body(&shell.machine, now)
            sendingEnds(shell.machine.sendingEnds)
        }
        carry()
    }

    /// Carries out the queued actions in order. A caller that comes while another thread does so only adds its own.
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
            case .damaged, .newerFormat:
                log.error("A partition cannot be opened", metadata: ["partition": "\(partition)", "why": "\(error)"])
            default:
                log.info("A partition is closed", metadata: ["partition": "\(partition)", "why": "\(error)"])
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
            "A partition is open",
            metadata: ["partition": "\(partition)", "epoch": "\(state.identity.epoch)"]
        )
        exchange.prepare(partition)
        let isHandedOver = shell.withLock { $0.machine.wasHandedOver(partition) }
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
