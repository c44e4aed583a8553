import Core
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Cluster

/// A member meets a partition whose log has an unreadable format.
struct OtherFormatTests {
    /// Members over one storage, in steps of a tenth of a second. Drains end immediately.
    private final class World {
        let storage = SimulatedStorage(partitions: 1, looksAtIDsFirst: true, bug: .none)
        private var members: [MemberName: MemberState] = [:]
        private var old: Set<MemberName> = []
        private(set) var opened: [MemberName] = []
        private(set) var errors: [PartitionLogError] = []
        private(set) var now: Deadline = 0

        /// A member that `isOld` cannot read the others' records.
        func start(_ name: String, isOld: Bool = false) {
            let name = MemberName.known(name)
            if isOld { old.insert(name) }
            let record = MemberRecord(name: name, incarnation: UInt64(members.count + 1))
            var member = MemberState(record, partitions: 1)
            for (name, entry) in storage.members {
                member.observed(member: name, entry.record, revision: entry.revision, now: now)
            }
            if let lease = storage.leases[0] {
                _ = member.observed(partition: 0, lease.record, revision: lease.revision, now: now)
            }
            member.leasesBecameCurrent(now: now)
            members[name] = member
        }

        func crash(_ name: String) { members[.known(name)] = nil }

        func commit(_ transaction: LogTransaction, _ name: String) throws {
            let name = MemberName.known(name)
            let actions = try members[name]?.commit(transaction, to: 0, now: now).actions ?? []
            carry(actions, name)
        }

        func state(_ name: String) -> PartitionState? { members[.known(name)]?.state(of: 0) }

        func isOpen(_ name: String) -> Bool { members[.known(name)]?.isOpen(0) ?? false }

        func run(_ span: Duration) {
            let end = now + span
            while now < end {
                now = now + .milliseconds(100)
                for name in members.keys.sorted() { change(name) { $0.tick(now: $1) } }
            }
        }

        private func change(_ name: MemberName, _ body: (inout MemberState, Deadline) -> [MemberState.Action]) {
            guard var member = members[name] else { return }
            let actions = body(&member, now)
            members[name] = member
            carry(actions, name)
        }

        private func carry(_ actions: [MemberState.Action], _ name: MemberName) {
            for action in actions { carry(action, name) }
        }

        private func carry(_ action: MemberState.Action, _ name: MemberName) {
            switch action {
            case .announce(let record):
                let revision = storage.put(record)
                for other in members.keys {
                    members[other]?.observed(member: name, record, revision: revision, now: now)
                }
            case .writeLease(let partition, let record, let over):
                let result = storage.put(record, at: partition, over: over)
                change(name) { $0.wroteLease(partition: partition, record, result, now: $1) }
                for other in members.keys.sorted() where other != name { observe(other) }
            case .readLease: observe(name)
            case .ask(let partition, let question, let opening, let ticket):
                let answer = seen(storage.answer(question, partition), by: name)
                change(name) { $0.answered(partition: partition, opening: opening, ticket: ticket, answer, now: $1) }
            case .opened: opened.append(name)
            case .drain(let partition): change(name) { $0.drained(partition, now: $1) }
            case .closed(_, let error): errors.append(error)
            case .committed, .left: break
            }
        }

        private func observe(_ name: MemberName) {
            guard let lease = storage.leases[0] else {
                members[name]?.leaseReadFailed(partition: 0)
                return
            }
            change(name) { $0.observed(partition: 0, lease.record, revision: lease.revision, now: $1) }
        }

        /// Replaces the version with an unknown one, because older programs treat a newer version like any unknown one.
        private func seen(_ answer: LogAnswer, by name: MemberName) -> LogAnswer {
            guard old.contains(name) else { return answer }
            func strange(_ bytes: [UInt8]) -> [UInt8] { [99] + bytes.dropFirst() }
            switch answer {
            case .records(let records, let isLast):
                let found = records.map { LogAnswer.Record(sequence: $0.sequence, bytes: $0.bytes.map(strange)) }
                return .records(found, isLast: isLast)
            case .part(let part): return .part(part.map(strange))
            default: return answer
            }
        }
    }

    @Test func memberLeavesUnreadableLogsToOthers() throws {
        // The partition would belong to the older one if it could read it.
        let older = try #require(
            (0..<50).lazy.map { "old\($0)" }
                .first { Placement.owner(of: 0, among: [.known($0), .known("new")]) == .known($0) }
        )
        let world = World()
        world.start("gone")
        world.run(.seconds(3))
        try world.commit(.crowd(1...20), "gone")
        #expect(world.state("gone")?.waiting.count == 20)
        world.crash("gone")
        world.start(older, isOld: true)
        world.run(.seconds(5))
        // The member had it, reported the reason, and does not take it again.
        #expect(world.errors.contains(.otherFormat(found: 99)) && !world.isOpen(older))
        #expect(world.storage.leases[0]?.record.isFree == true)
        #expect(world.storage.members[.known(older)]?.record.declined == [0])
        world.run(.seconds(10))
        #expect(world.errors.count { $0 == .otherFormat(found: 99) } == 1)
        world.start("new")
        world.run(.seconds(4))
        #expect(world.isOpen("new") && world.state("new")?.waiting.count == 20)
        #expect(world.storage.violation == nil)
    }

    @Test func theErrorNamesBothFormats() {
        #expect("\(PartitionLogError.otherFormat(found: 3))".contains("has the format 3"))
        #expect("\(PartitionLogError.otherFormat(found: 3))".contains("expects 1"))
    }
}
