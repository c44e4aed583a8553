import Core
import Delivery
import HeapModule
import Push
import RandomTestSupport
import RouterConfiguration

@testable import Cluster

/// A cluster of three members in one thread. A seed controls its clock, network and storage: crashes, pauses, cut
/// links, outages, delays, lost and doubled messages. The same seed always leads to the same run.
///
/// Relays publish events and deletions, which may reach different members. Members pass them to owners. An owner makes
/// one delivery for each event, sends it unless it was deleted, and records the outcome. The simulation checks the
/// storage's appends, each send, and at the end that everything was sent.
final class ClusterSimulation {
    static let partitions = 4
    private static let memberNames = ["a", "b", "c"]
    private static let faultyTime: Int64 = 16_000
    private static let longestTime: Int64 = 90_000
    private static let relays = 2

    private struct Scheduled: Comparable {
        let time: Int64
        let order: Int
        let body: () -> Void

        static func < (left: Scheduled, right: Scheduled) -> Bool {
            (left.time, left.order) < (right.time, right.order)
        }
        static func == (left: Scheduled, right: Scheduled) -> Bool { left.order == right.order }
    }

    private(set) var random: SeededGenerator
    let bug: PlantedBug
    let storage: SimulatedStorage
    private(set) var time: Int64 = 0
    private var agenda = Heap<Scheduled>()
    private var order = 0
    private var members: [SimulatedMember] = []
    private var isOut = false
    /// Events in each relay, by number.
    private(set) var relayEvents: [[UInt64]] = Array(repeating: [], count: relays)
    private var sent: [DeliveryID: Int] = [:]
    /// Events that an owner confirmed as kept, and those that were deleted since.
    private var accepted: Set<UInt64> = []
    private var deleted: Set<UInt64> = []
    /// Deleted events that no member had sent when all owners had kept the deletion.
    private(set) var withdrawn: Set<UInt64> = []
    private(set) var repeats = 0
    private(set) var openings = 0
    private(set) var isSettled = false

    init(seed: UInt64, bug: PlantedBug = .none) {
        random = SeededGenerator(seed: seed)
        self.bug = bug
        storage = SimulatedStorage(partitions: Self.partitions, looksAtIDsFirst: random.chance(0.5), bug: bug)
        members = Self.memberNames.map { SimulatedMember(self, $0) }
    }

    /// Runs the schedule. Returns the first violation, or nil.
    func run() -> String? {
        for member in members { after(number(0...1_500)) { member.start() } }
        for event in 1...UInt64(20) {
            after(number(0...Self.faultyTime)) { [self] in
                let first = Int(event) % Self.relays
                relayEvents[first].append(event)
                if random.chance(0.5) { relayEvents[(first + 1) % Self.relays].append(event) }
            }
            if chance(0.4) { after(number(0...Self.faultyTime)) { [self] in delete(event) } }
        }
        for _ in 0..<number(0...8) { after(number(500...Self.faultyTime)) { [self] in makeFault() } }
        after(Self.faultyTime + 10_000) { [self] in checkEnd() }
        while storage.violation == nil, !isSettled, time < Self.longestTime, let next = agenda.popMin() {
            time = next.time
            next.body()
        }
        return storage.violation ?? (isSettled ? nil : "it did not settle: \(openQuestions)")
    }

    /// An author deletes an event that a member has accepted, at a random relay.
    private func delete(_ event: UInt64) {
        guard accepted.contains(event) else { return }
        deleted.insert(event)
        relayEvents[Int(number(0...Int64(Self.relays - 1)))].append(event | SimulatedMember.deletion)
    }

    /// Records that the reader of an item got the confirmation that its results are kept.
    func kept(_ item: UInt64) {
        let event = item & ~SimulatedMember.deletion
        guard item != event else {
            accepted.insert(event)
            return
        }
        if sent[SimulatedMember.deliveryID(event)] == nil { withdrawn.insert(event) }
    }

    /// Returns the partition whose owner reads a relay.
    static func partition(ofRelay relay: Int) -> Int { relay + 1 }

    // MARK: Time and chance

    func after(_ span: Int64, _ body: @escaping () -> Void) {
        order += 1
        agenda.insert(Scheduled(time: time + span, order: order, body: body))
    }

    func number(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &random) }

    func chance(_ part: Double) -> Bool { random.chance(part) }

    private var isFaulty: Bool { time < Self.faultyTime }

    private func makeFault() {
        let member = members[Int(number(0...Int64(members.count - 1)))]
        switch number(0...5) {
        case 0: member.crash(for: number(100...8_000))
        case 1: member.pause(for: number(500...9_000))
        case 2: member.cut(for: number(500...7_000))
        case 3:
            isOut = true
            after(number(200...5_000)) { [self] in isOut = false }
        case 4:
            let partition = Int(number(0...Int64(Self.partitions - 1)))
            storage.intrude(partition, repeating: chance(0.5) ? nil : Int(number(0...20)))
        default: member.leave()
        }
    }

    /// Returns the travel time of a message; nil if it is lost.
    private func travel() -> Int64? {
        guard isFaulty else { return number(1...10) }
        if chance(0.02) { return nil }
        return chance(0.03) ? number(100...4_000) : number(1...20)
    }

    // MARK: The network

    /// Sends a request to the storage. `done` gets nil on a timeout.
    func exchange<Reply>(
        _ member: SimulatedMember,
        _ perform: @escaping () -> Reply,
        _ done: @escaping (Reply?) -> Void
    ) {
        let life = member.life
        var isAnswered = false
        func finish(_ reply: Reply?) {
            guard !isAnswered else { return }
            isAnswered = true
            done(reply)
        }
        member.later(1_000, life) { finish(nil) }
        guard !member.isCut, let there = travel() else { return }
        after(there) { [self] in
            guard !isOut, !member.isCut else { return }
            let reply = perform()
            if isFaulty, chance(0.02) { after(number(1...3_000)) { _ = perform() } }
            guard let back = travel() else { return }
            after(back) {
                guard !member.isCut else { return }
                member.later(0, life) { finish(reply) }
            }
        }
    }

    /// Passes a batch to the subscriber of the partition.
    func request(
        _ member: SimulatedMember,
        _ batch: HandOverBatch,
        _ partition: Int,
        _ done: @escaping (HandOverQueue.Result) -> Void
    ) {
        let life = member.life
        var isAnswered = false
        func finish(_ result: HandOverQueue.Result) {
            guard !isAnswered else { return }
            isAnswered = true
            done(result)
        }
        member.later(1_000, life) { finish(.unanswered) }
        guard !member.isCut, let there = travel() else { return }
        after(there) { [self] in
            guard !isOut, !member.isCut else { return }
            let owners = members.filter { $0.isSubscribed(to: partition) && !$0.isCut }
            if owners.isEmpty { return member.later(1, life) { finish(.unanswered) } }
            for owner in owners {
                let bytes = batch.bytes
                owner.later(number(1...10), owner.life) {
                    owner.receive(bytes, partition) { [self] answer in
                        guard !owner.isCut, let back = travel() else { return }
                        after(back) {
                            guard !member.isCut else { return }
                            member.later(0, life) { finish(answer == .kept ? .kept : .later) }
                        }
                    }
                }
            }
        }
    }

    /// All members that follow the bucket get it.
    func tellOfMember(_ name: MemberName) {
        guard let entry = storage.members[name] else { return }
        for member in members where !member.isCut {
            member.later(travel() ?? 500, member.life) {
                member.observed(name, entry.record, entry.revision)
            }
        }
    }

    func tellOfLease(_ partition: Int) {
        guard let entry = storage.leases[partition] else { return }
        for member in members where !member.isCut {
            member.later(travel() ?? 500, member.life) {
                member.observed(partition, entry.record, entry.revision)
            }
        }
    }

    /// A partition's new owner announces it, and some members may miss the message.
    func tellOfOwner(_ partition: Int) {
        for member in members where !member.isCut {
            if let span = travel() { member.later(span, member.life) { member.heardOfOwner(partition) } }
        }
    }

    // MARK: Judging

    func opened() { openings += 1 }

    /// Records that a member sends a delivery of a partition that it opened in `epoch`.
    func send(_ delivery: Delivery, _ number: Int64, _ partition: Int, epoch: UInt64, by member: String) {
        if storage.epoch(of: partition) > epoch {
            storage.note(
                "\(member) sent for \(partition) in epoch \(epoch), after \(storage.epoch(of: partition)) began"
            )
        }
        if storage.isRemoved(number, from: partition) {
            storage.note("\(member) sent \(number) of \(partition), whose outcome was kept")
        }
        if withdrawn.contains(where: { SimulatedMember.deliveryID($0) == delivery.id }) {
            storage.note("\(member) sent \(delivery.id), whose deletion was kept")
        }
        if sent[delivery.id, default: 0] > 0 { repeats += 1 }
        sent[delivery.id, default: 0] += 1
    }

    private var events: Set<UInt64> { Set(relayEvents.joined()).filter { $0 < SimulatedMember.deletion } }

    private var openQuestions: String {
        let unsent = events.filter { sent[SimulatedMember.deliveryID($0)] == nil }.sorted()
        return "unsent \(unsent); open \(members.map { $0.openPartitions })"
    }

    private func checkEnd() {
        let isDone =
            members.flatMap(\.openPartitions).sorted() == Array(0..<Self.partitions)
            && members.allSatisfy(\.isQuiet) && members.allSatisfy { $0.hasReadAll }
        guard isDone else { return after(500) { [self] in checkEnd() } }
        for event in events where sent[SimulatedMember.deliveryID(event)] == nil && !deleted.contains(event) {
            storage.note("event \(event) was lost")
        }
        for member in members {
            for partition in member.openPartitions where storage.rebuilt(partition) != member.state(of: partition) {
                storage.note("the log of \(partition) does not lead to its owner's state")
            }
        }
        isSettled = true
    }
}
