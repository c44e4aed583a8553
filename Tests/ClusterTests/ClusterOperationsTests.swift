import Console
import Core
import Nostr
import RouterConfiguration
import Synchronization
import Testing

@testable import Cluster
@testable import Operations

/// The member b, with a constant reply.
private struct Other: Peers {
    let name = "a"
    let others = ["b"]
    let reply: PeerReply

    func ask(_ question: [UInt8], of member: String, within span: Duration) async -> PeerReply { reply }

    func owns(_ account: PublicKey) -> Bool { false }

    func tell(_ bytes: [UInt8], to member: String) {}
}

/// An operator's commands to a cluster. The member sees a sequence of states.
@Suite struct ClusterOperationsTests {
    private final class Control: Sendable {
        private let calls = Mutex<[String]>([])
        private let left: Mutex<[ClusterStatus]>

        /// Returns `states` one after the other, and then repeats the last one.
        init(_ states: [ClusterStatus]) { left = Mutex(states) }

        var status: ClusterStatus? { left.withLock { $0.count > 1 ? $0.removeFirst() : $0.first } }
        var all: [String] { calls.withLock(\.self) }

        @Sendable func drain(_ isOn: Bool) { calls.withLock { $0.append("drain \(isOn)") } }

        @Sendable func move(_ partition: Int, to member: String?) {
            calls.withLock { $0.append("move \(partition) \(member ?? "-")") }
        }
    }

    private static func cluster(_ owners: [String?], drained: Set<String> = [], away: Set<String> = []) -> ClusterStatus
    {
        ClusterStatus(
            name: "a",
            prefix: "carillon",
            isConnected: true,
            registry: 1,
            members: ["a", "b"].map { name in
                ClusterStatus.Member(
                    name: name,
                    partitions: owners.count { $0 == name },
                    isLiving: !away.contains(name),
                    isDrained: drained.contains(name),
                    wire: 1,
                    hasSameConfiguration: true
                )
            },
            partitions: owners.enumerated().map { ClusterStatus.Partition(partition: $0, owner: $1, waiting: nil) }
        )
    }

    private static func operations(_ control: Control, _ reply: PeerReply = .silence(.absent)) -> ClusterOperations {
        ClusterOperations(
            MemberSurvey(peers: Other(reply: reply)),
            status: { control.status },
            drain: control.drain,
            move: control.move,
            pause: {}
        )
    }

    @Test func drainingWaitsUntilEverythingIsHandedOver() async throws {
        let before = Self.cluster(["a", "b"])
        let control = Control([
            before, before, Self.cluster(["a", "b"], drained: ["a"]), Self.cluster(["b", "b"], drained: ["a"]),
        ])
        let answer = try await Self.operations(control).drain("a", undo: false)
        #expect(answer == ClusterDrain(member: "a", isDrained: true, partitions: 0) && control.all == ["drain true"])
    }

    @Test func anotherMemberIsAsked() async throws {
        let before = Self.cluster(["a", "b"])
        let control = Control([before, before, Self.cluster(["a", "a"], drained: ["b"])])
        let answer = try await Self.operations(control, .answer(Array("\0true".utf8))).drain("b", undo: false)
        #expect(answer.partitions == 0 && control.all.isEmpty)
        let absent = Sentence("member-absent", ["member": "b"], "b is not connected")
        await #expect(throws: OperationError.unavailable(absent)) {
            try await Self.operations(Control([before])).drain("b", undo: false)
        }
    }

    @Test func aRefusalOfAnotherMemberKeepsItsCode() async throws {
        let refusal = OperationError.unavailable(Sentence("leaving", [:], "this member is leaving the cluster"))
        let operations = Self.operations(Control([Self.cluster(["a", "b"])]), .answer(MemberAnswer.refusal(refusal)))
        await #expect(throws: refusal) { try await operations.drain("b", undo: false) }
    }

    @Test func impossibleOperationIsReported() async throws {
        let control = Control([Self.cluster(["a", "b"])])
        let both = Self.operations(control)
        let names = ["member": "c", "members": "a, b"]
        let unknown = Sentence("unknown-member", names, "there is no member c: they are a, b")
        await #expect(throws: OperationError.unknown(unknown)) {
            try await both.drain("c", undo: false)
        }
        let limits = ["partition": "2", "limit": "1"]
        let beyond = Sentence("unknown-partition", limits, "there is no partition 2: they are 0 to 1")
        await #expect(throws: OperationError.unknown(beyond)) {
            try await both.move(2, to: "b")
        }
        let last = Self.operations(Control([Self.cluster(["a", "a"], away: ["b"])]))
        let alone = Sentence("drain-last", ["member": "a"], "no other member could take the partitions of a")
        await #expect(throws: OperationError.unavailable(alone)) {
            try await last.drain("a", undo: false)
        }
        let words = "b takes no partitions: it is drained, leaving or away"
        let away = OperationError.unavailable(Sentence("takes-no-partitions", ["member": "b"], words))
        await #expect(throws: away) {
            try await last.move(0, to: "b")
        }
        #expect(control.all.isEmpty)
        let left = OperationError.unavailable(Sentence("leaving", [:], "this member is leaving the cluster"))
        await #expect(throws: left) { try await Self.operations(Control([])).move(0, to: nil) }
    }

    @Test func differingMembersAreReported() {
        var status = Self.cluster(["a", "b"])
        #expect(!MemberList(status).hasDifferences)
        status.members[1].hasSameConfiguration = false
        status.members[1].version = "0.2.0"
        status.members[0].version = "0.1.0"
        let list = MemberList(status)
        #expect(list.hasDifferences && list.text.contains("versions differ: 0.1.0, 0.2.0"))
        #expect(list.text.contains("(differs)") && list.text.contains("configurations differ"))
    }
}
