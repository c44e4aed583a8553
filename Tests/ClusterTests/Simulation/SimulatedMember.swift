import Core
import Delivery
import DeliveryTestSupport
import DequeModule
import Push
import RouterConfiguration

@testable import Cluster

/// A simulated member: the real state machines, and a small router on top of them.
final class SimulatedMember {
    /// The state of an open partition.
    private struct Work {
        var epoch: UInt64
        var receiver = HandOverReceiver<(HandOverAnswer) -> Void>()
        var pendingCauses: Set<[UInt8]> = []
        var underWay: Set<Int64> = []
        /// Deliveries that deletions withdrew: they are not sent, although the log may not record that yet.
        var withdrawn: Set<Int64> = []
        var isDraining = false
        var whenKept: [UInt64: (Int64) -> Void] = [:]
    }

    private struct Asked: Hashable {
        let relay: Int
        let reading: Int
        let place: UInt64
    }

    /// Marks the deletion of an event among events.
    static let deletion: UInt64 = 1 << 63

    private unowned let world: ClusterSimulation
    private let name: MemberName
    private var machine: MemberState?
    private var work: [Int: Work] = [:]
    /// Rises with each start and crash: actions of an earlier life are dropped.
    private(set) var life = 0
    private var pausedUntil: Int64 = 0
    private(set) var isCut = false
    private var offset: Int64 = 0
    private var rate = 1.0

    private var queues: [HandOverQueue] = []
    private var marks: [ReadingMark] = []
    private var positions: [Int] = []
    /// Counts the reads of each relay that this member started.
    private var readings: [Int] = []
    private var places: [UInt64: (relay: Int, reading: Int, place: UInt64)] = [:]
    /// The number of owners that have not responded, by request.
    private var unanswered: [Asked: Int] = [:]
    private var lastToken: UInt64 = 0

    init(_ world: ClusterSimulation, _ name: String) {
        self.world = world
        self.name = .known(name)
    }

    static func deliveryID(_ event: UInt64) -> DeliveryID { "d\(event)" }

    private static func cause(_ event: UInt64) -> [UInt8] {
        (0..<32).map { $0 < 8 ? UInt8(truncatingIfNeeded: event >> UInt64(8 * $0)) : 0 }
    }

    private var now: Deadline { Deadline(milliseconds: offset + Int64(Double(world.time) * rate)) }

    // MARK: Life

    func start() {
        life += 1
        pausedUntil = 0
        offset = world.number(0...1_000_000)
        rate = 0.95 + Double(world.number(0...100)) / 1_000
        var times = LeaseTable.Times()
        if world.bug == .longValidity { times.validity = .seconds(6) }
        var settings = PartitionLog.Settings()
        settings.snapshotRecords = 4
        settings.partSize = 512
        let incarnation = UInt64(world.number(1...(1 << 60)))
        machine = MemberState(
            MemberRecord(name: name, incarnation: incarnation),
            partitions: ClusterSimulation.partitions,
            times: times,
            settings: settings
        )
        var limits = HandOverQueue.Limits()
        limits.batchItems = 3
        queues = (0..<ClusterSimulation.partitions).map { _ in HandOverQueue(sender: incarnation, limits: limits) }
        marks = world.relayEvents.map { _ in ReadingMark() }
        positions = world.relayEvents.map { _ in 0 }
        readings = world.relayEvents.map { _ in 0 }
        (work, places, unanswered) = ([:], [:], [:])
        catchUp()
        tick(life)
        read(life)
    }

    func crash(for span: Int64) {
        life += 1
        machine = nil
        work = [:]
        let life = life
        world.after(span) { [self] in if self.life == life { start() } }
    }

    func pause(for span: Int64) { pausedUntil = max(pausedUntil, world.time + span) }

    func cut(for span: Int64) {
        isCut = true
        world.after(span) { [self] in
            isCut = false
            let life = life
            later(0, life) { [self] in catchUp() }
        }
    }

    func leave() { change { $0.leave(now: $1) } }

    /// Runs `body` unless the member has crashed by then; if it is paused, after the pause.
    func later(_ span: Int64, _ life: Int, _ body: @escaping () -> Void) {
        world.after(span) { [self] in
            guard self.life == life else { return }
            guard world.time >= pausedUntil else { return later(pausedUntil - world.time, life, body) }
            body()
        }
    }

    private func catchUp() {
        guard machine != nil else { return }
        for (name, entry) in world.storage.members.sorted(by: { $0.key < $1.key }) {
            observed(name, entry.record, entry.revision)
        }
        for (partition, entry) in world.storage.leases.sorted(by: { $0.key < $1.key }) {
            observed(partition, entry.record, entry.revision)
        }
        machine?.leasesBecameCurrent(now: now)
    }

    private func tick(_ life: Int) {
        change { $0.tick(now: $1) }
        for partition in queues.indices { hand(queues[partition].tick(now: now), partition) }
        later(100, life) { [self] in tick(life) }
    }

    func heardOfOwner(_ partition: Int) {
        guard machine != nil else { return }
        hand(queues[partition].ownerChanged(now: now), partition)
    }

    // MARK: The machines

    func observed(_ name: MemberName, _ record: MemberRecord, _ revision: UInt64) {
        machine?.observed(member: name, record, revision: revision, now: now)
    }

    func observed(_ partition: Int, _ record: LeaseRecord, _ revision: UInt64) {
        change { $0.observed(partition: partition, record, revision: revision, now: $1) }
    }

    private func change(_ body: (inout MemberState, Deadline) -> [MemberState.Action]) {
        guard var machine = machine.take() else { return }
        let actions = body(&machine, now)
        self.machine = machine
        for action in actions { carry(action) }
    }

    private func carry(_ action: MemberState.Action) {
        let life = life
        switch action {
        case .announce(let record):
            world.exchange(self) { [world] in
                _ = world.storage.put(record)
                world.tellOfMember(record.name)
            } _: { _ in
            }
        case .writeLease(let partition, let record, let over):
            world.exchange(self) { [world] in
                let result = world.storage.put(record, at: partition, over: over)
                world.tellOfLease(partition)
                return result
            } _: { [self] result in
                change { $0.wroteLease(partition: partition, record, result ?? .unknown, now: $1) }
            }
        case .readLease(let partition):
            world.exchange(self) { [world] in
                world.storage.leases[partition].map { ($0.record, $0.revision) }
            } _: { [self] entry in
                guard let entry, let (record, revision) = entry else {
                    machine?.leaseReadFailed(partition: partition)
                    return
                }
                observed(partition, record, revision)
            }
        case .ask(let partition, let question, let opening, let ticket):
            world.exchange(self) { [world] in
                world.storage.answer(question, partition)
            } _: { [self] answer in
                change {
                    $0.answered(
                        partition: partition,
                        opening: opening,
                        ticket: ticket,
                        answer ?? .unavailable,
                        now: $1
                    )
                }
            }
        case .opened(let partition): opened(partition)
        case .committed(let partition, let commits): committed(partition, commits)
        case .drain(let partition):
            work[partition]?.isDraining = true
            drain(partition, since: world.time, life)
        case .closed(let partition, let error):
            work[partition] = nil
            if case .damaged = error { world.storage.note("\(name) found \(partition) damaged: \(error)") }
        case .left:
            self.life += 1
            machine = nil
            work = [:]
            world.after(world.number(100...3_000)) { [self] in start() }
        }
    }

    private func drain(_ partition: Int, since: Int64, _ life: Int) {
        guard let work = work[partition] else { return }
        guard !work.underWay.isEmpty, world.time - since < 5_000 else {
            return change { $0.drained(partition, now: $1) }
        }
        later(50, life) { [self] in drain(partition, since: since, life) }
    }

    // MARK: What an owner does

    var openPartitions: [Int] { machine?.openPartitions ?? [] }

    func state(of partition: Int) -> PartitionState? { machine?.state(of: partition) }

    var isQuiet: Bool {
        openPartitions.allSatisfy { state(of: $0)?.waiting.isEmpty ?? false && work[$0]?.whenKept.isEmpty ?? false }
    }

    func isSubscribed(to partition: Int) -> Bool { work[partition] != nil }

    private func opened(_ partition: Int) {
        guard let state = state(of: partition) else { return }
        world.opened()
        work[partition] = Work(epoch: state.identity.epoch)
        for relay in world.relayEvents.indices where ClusterSimulation.partition(ofRelay: relay) == partition {
            // Continues at the last reader's position.
            positions[relay] = Int(state.relays["\(relay)"] ?? 0)
            marks[relay] = ReadingMark()
            readings[relay] += 1
        }
        for number in state.waiting.keys.sorted() { send(number, partition, state.identity.epoch, life) }
        world.tellOfOwner(partition)
    }

    /// Receives a batch of events for a partition that this member owns.
    func receive(_ bytes: [UInt8], _ partition: Int, _ reply: @escaping (HandOverAnswer) -> Void) {
        guard let batch = try? HandOverBatch(bytes), work[partition] != nil else { return }
        guard work[partition]?.isDraining == false else { return reply(.later) }
        guard work[partition]?.receiver.receive(batch.id, reply: reply) == true else { return }
        var transaction = LogTransaction()
        for item in batch.items {
            let event = item.reduce(0) { $0 << 8 | UInt64($1) }
            guard event < Self.deletion else {
                let id = Self.deliveryID(event & ~Self.deletion)
                let held = state(of: partition)?.waiting.filter { $0.value.delivery.id == id }.keys.sorted() ?? []
                // Deliveries in flight have been sent already.
                for number in held where work[partition]?.underWay.contains(number) == false {
                    transaction.changes.removals.append(OutboxKey(number: number))
                    work[partition]?.withdrawn.insert(number)
                }
                continue
            }
            let cause = Self.cause(event)
            guard state(of: partition)?.isKnown(cause) == false,
                work[partition]?.pendingCauses.insert(cause).inserted == true
            else { continue }
            transaction.causes.append(cause)
            transaction.deliveries.append(
                Delivery(
                    id: Self.deliveryID(event),
                    device: DeviceID(rawValue: Int64(event % 5)),
                    platform: "ios",
                    app: "default",
                    notification: .wake(.dm, urgency: .high),
                    acceptedAt: Timestamp(milliseconds: world.time)
                )
            )
        }
        let (life, epoch) = (life, work[partition]?.epoch ?? 0)
        if !transaction.isEmpty {
            let count = Int64(transaction.deliveries.count)
            commit(transaction, partition) { [self] first in
                for number in first..<first + count { send(number, partition, epoch, life) }
            }
        }
        if world.bug == .earlyAnswer { return reply(.kept) }
        guard let last = machine?.lastCommitted(in: partition) else { return }
        let hasLease = machine?.maySend(for: partition, at: now) == true
        let worked = work[partition]?.receiver.worked(batch.id, awaiting: last, hasLease: hasLease)
        if let (answer, replies) = worked { for reply in replies { reply(answer) } }
    }

    private func commit(_ transaction: LogTransaction, _ partition: Int, _ kept: @escaping (Int64) -> Void) {
        guard var machine = machine.take() else { return }
        let result = Result { () throws(PartitionLogError) in
            try machine.commit(transaction, to: partition, now: now)
        }
        self.machine = machine
        guard case .success(let (number, actions)) = result else { return }
        work[partition]?.whenKept[number] = kept
        for action in actions { carry(action) }
    }

    private func committed(_ partition: Int, _ commits: [PartitionLog.Commit]) {
        for commit in commits { work[partition]?.whenKept.removeValue(forKey: commit.number)?(commit.firstDelivery) }
        guard let last = commits.last else { return }
        for reply in work[partition]?.receiver.kept(through: last.number) ?? [] { reply(.kept) }
    }

    private func send(_ number: Int64, _ partition: Int, _ epoch: UInt64, _ life: Int) {
        // Some take longer, as with a busy push service.
        later(world.number(1...(world.chance(0.25) ? 6_000 : 150)), life) { [self] in
            guard let current = work[partition], current.epoch == epoch, !current.isDraining,
                let entry = state(of: partition)?.waiting[number], !current.underWay.contains(number),
                !current.withdrawn.contains(number)
            else { return }
            guard machine?.maySend(for: partition, at: now) == true else {
                return later(200, life) { [self] in send(number, partition, epoch, life) }
            }
            work[partition]?.underWay.insert(number)
            world.send(entry.delivery, number, partition, epoch: epoch, by: name.rawValue)
            later(world.number(5...400), life) { [self] in end(number, entry.attempts, partition, epoch, life) }
        }
    }

    private func end(_ number: Int64, _ attempts: Int, _ partition: Int, _ epoch: UInt64, _ life: Int) {
        guard work[partition]?.epoch == epoch else { return }
        var transaction = LogTransaction()
        let isDelivered = world.chance(0.8)
        if isDelivered {
            transaction.changes.removals = [OutboxKey(number: number)]
        } else {
            let due = Timestamp(milliseconds: world.time + 100)
            transaction.changes.reschedulings = [
                OutboxChanges.Rescheduling(key: OutboxKey(number: number), due: due, attempts: attempts + 1)
            ]
        }
        commit(transaction, partition) { [self] _ in
            work[partition]?.underWay.remove(number)
            if !isDelivered { send(number, partition, epoch, life) }
        }
    }

    // MARK: What a reader of relays does

    /// Returns whether this member reads a relay: its partition's owner does, and for a while two members.
    private func reads(_ relay: Int) -> Bool {
        work[ClusterSimulation.partition(ofRelay: relay)]?.isDraining == false
    }

    var hasReadAll: Bool {
        positions.indices.allSatisfy { !reads($0) || positions[$0] >= world.relayEvents[$0].count }
            && queues.allSatisfy(\.isEmpty)
    }

    private func read(_ life: Int) {
        for relay in positions.indices where reads(relay) && positions[relay] < world.relayEvents[relay].count {
            let place = UInt64(positions[relay])
            let event = world.relayEvents[relay][positions[relay]]
            positions[relay] += 1
            marks[relay].began(place, value: Int64(place) + 1)
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: event >> UInt64(56 - 8 * $0)) }
            let owner = Int(event & ~Self.deletion) % ClusterSimulation.partitions
            // Only owners know their deliveries.
            let everybody = world.bug == .deletionToOneOwner ? [0] : Array(0..<ClusterSimulation.partitions)
            let partitions = event < Self.deletion ? [owner] : everybody
            unanswered[Asked(relay: relay, reading: readings[relay], place: place)] = partitions.count
            for partition in partitions {
                lastToken += 1
                places[lastToken] = (relay, readings[relay], place)
                let token = lastToken
                hand(queues[partition].add(bytes, token: token), partition)
                if world.bug == .earlyMark { kept([token]) }
            }
        }
        later(world.number(20...300), life) { [self] in read(life) }
    }

    private func hand(_ actions: [HandOverQueue.Action], _ partition: Int) {
        for action in actions {
            switch action {
            case .send(let batch):
                world.request(self, batch, partition) { [self] result in
                    hand(queues[partition].ended(batch.id.number, result, now: now), partition)
                }
            case .kept(let tokens): kept(tokens)
            }
        }
    }

    private func kept(_ tokens: [UInt64]) {
        for token in tokens {
            guard let (relay, reading, place) = places.removeValue(forKey: token) else { continue }
            let asked = Asked(relay: relay, reading: reading, place: place)
            unanswered[asked, default: 1] -= 1
            guard unanswered[asked] == 0 else { continue }
            unanswered[asked] = nil
            world.kept(world.relayEvents[relay][Int(place)])
            guard reading == readings[relay], marks[relay].ended(place), let value = marks[relay].value else {
                continue
            }
            let partition = ClusterSimulation.partition(ofRelay: relay)
            change { $0.note([RelayMark(relay: "\(relay)", moment: value)], in: partition, now: $1) }
        }
    }
}

/// The position in a relay before which everything is kept: reading continues there after a crash.
struct ReadingMark: Sendable {
    private var open: Set<UInt64> = []
    private var places: Deque<(place: UInt64, value: Int64)> = []
    /// The value of the last place before which everything is kept; nil if none is.
    private(set) var value: Int64?

    init() {}

    /// Records a read at `value`, such as a date; `place` rises with each.
    mutating func began(_ place: UInt64, value: Int64) {
        open.insert(place)
        places.append((place, value))
    }

    /// Records that it is kept or has no result. Returns whether ``value`` moved.
    mutating func ended(_ place: UInt64) -> Bool {
        open.remove(place)
        let before = value
        while let first = places.first, !open.contains(first.place) {
            places.removeFirst()
            value = max(value ?? .min, first.value)
        }
        return value != before
    }
}
