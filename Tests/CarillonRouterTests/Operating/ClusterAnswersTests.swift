import Console
import DeliveryTestSupport
import Nostr
import Synchronization
import Testing
import Units

@testable import Operations

/// Members that answer what they were told to.
private final class ScriptedPeers: ClusterPeers {
    let name: String
    let others: [String]
    private let replies: [String: PeerReply]
    private let asked = Mutex<[String]>([])

    init(_ name: String, _ replies: [String: PeerReply]) {
        (self.name, self.replies, others) = (name, replies, replies.keys.sorted())
    }

    var askedMembers: [String] { asked.withLock { $0.sorted() } }

    func ask(_ question: [UInt8], of member: String, within span: Duration) async -> PeerReply {
        asked.withLock { $0.append(member) }
        return replies[member] ?? .silence(.absent)
    }

    func owns(_ account: PublicKey) -> Bool { false }
}

@Suite struct MemberSurveyTests {
    private static func ask(
        _ peers: ScriptedPeers?,
        here: @escaping @Sendable () throws -> [Int64] = { [1] }
    ) async throws
        -> MemberSurvey.Result<[Int64]>
    { try await MemberSurvey(peers: peers).ask(.devices([]), here: { try here() }) }

    @Test func aRouterThatServesAloneAsksNobody() async throws {
        let result = try await Self.ask(nil)
        #expect(result.answers.map(\.answer) == [[1]] && result.asked == nil)
        await #expect(throws: OperationFailure.unknown("none")) {
            try await Self.ask(nil) { throw OperationFailure.unknown("none") }
        }
    }

    @Test func whoDoesNotAnswerIsNamedAndTheRestIsShown() async throws {
        let peers = ScriptedPeers(
            "b",
            [
                "a": .answer(MemberAnswer.bytes([Int64(7)])), "c": .silence(.late),
                "d": .answer(MemberAnswer.refusal(.unavailable("the outbox is full"))), "e": .answer([0, 1, 2]),
                "f": .answer([]),
            ]
        )
        let result = try await Self.ask(peers)
        #expect(result.answers.map(\.member) == ["a", "b"] && result.answers.map(\.answer) == [[7], [1]])
        #expect(peers.askedMembers == ["a", "c", "d", "e", "f"])
        #expect(
            result.asked?.lines == [
                "c does not answer in time: what it has is missing here",
                "d says: the outbox is full: what it has is missing here",
                "e answers as another version does: what it has is missing here",
                "f answers as another version does: what it has is missing here",
            ]
        )
    }

    @Test func whatCannotBeUnderstoodIsAnError() async throws {
        let peers = ScriptedPeers("b", ["a": .answer(MemberAnswer.bytes([Int64(7)]))])
        await #expect(throws: OperationFailure.invalid("since")) {
            try await Self.ask(peers) { throw OperationFailure.invalid("since") }
        }
        // What only this member cannot do is no reason to keep the others' answers back.
        let result = try await Self.ask(peers) { throw OperationFailure.unavailable("full") }
        #expect(result.answers.map(\.member) == ["a"] && result.asked?.silent.map(\.name) == ["b"])
        let silent = ScriptedPeers("b", ["a": .silence(.absent)])
        await #expect(throws: OperationFailure.unavailable("full")) {
            try await Self.ask(silent) { throw OperationFailure.unavailable("full") }
        }
    }

    @Test(arguments: [
        OperationFailure.invalid(Sentence("key", ["member": "the user"], "the user: expected npub1…")),
        .unknown(Sentence("unknown-device", ["device": "7"], "there is no device 7")),
        .unavailable(Sentence("retry-full", [:], "the outbox is full")), .unavailable("error 5 of SQLite"),
    ]) func refusalsArriveWithTheirCodes(_ refusal: OperationFailure) async throws {
        let bytes = MemberAnswer.refusal(refusal)
        #expect(throws: refusal) { try MemberAnswer.read(bytes, as: Bool.self) }
        // Somebody has to answer, or the refusal is the answer.
        let result = try await Self.ask(ScriptedPeers("b", ["a": .answer(bytes)]))
        #expect(result.asked?.silent.map(\.says) == [refusal.says])
        #expect(result.asked?.silent.map(\.reason) == ["says: \(refusal.description)"])
    }

    @Test func refusalsOfFormerVersionsHaveWordsAlone() {
        let bytes = [1] + Array(#"{"kind":"unknown","words":"there is no delivery x"}"#.utf8)
        #expect(throws: OperationFailure.unknown("there is no delivery x")) {
            try MemberAnswer.read(bytes, as: Bool.self)
        }
    }

    @Test func whatIsTooLongForAMessageIsRefused() {
        let long = MemberAnswer.bytes([String(repeating: "x", count: MemberAnswer.longest)])
        #expect(long.first == 1 && long.count < 200)
    }

    @Test(arguments: [
        MemberQuestion.status, .partitions, .counts(["days": "7"]), .relays(containing: nil),
        .queue(["state": "failed"]), .delivery(id: "d1"),
        .retry([:]),
        .drop([:]), .event(EventQuestion(event: "e", recipient: nil)),
        .deliveries(DeliveryQuestion(deliveries: ["d"], devices: [1])), .devices([1]), .drain(true),
        .keptEvents(KeptEventsQuestion(since: 5, before: ["a": 7])),
    ]) func questionsArriveAsTheyWere(_ question: MemberQuestion) {
        #expect(MemberJSON.read(MemberJSON.bytes(question), as: MemberQuestion.self) == question)
    }
}

@Suite struct ClusterAnswersTests {
    private static func item(_ id: String, _ state: String) -> QueueList.Item {
        QueueList.Item(
            id: id,
            state: state,
            platform: "ios",
            app: "default",
            device: 1,
            attempts: 1,
            acceptedAt: "2026-11-26T10:00:00.000Z",
            bytes: 10
        )
    }

    private static func page(_ entries: [(String, String, String)], next: String? = nil) -> QueuePage {
        QueuePage(
            entries: entries.map { QueuePage.Entry(behind: $0.0, item: item($0.1, $0.2)) },
            next: next
        )
    }

    private static let asked = MembersAsked(answered: ["a", "b"], silent: [])

    @Test(arguments: ["f12", "w3", "7.w3", "0.f1", "@router-1.f2"]) func cursorsAreReadAsTheyAreWritten(_ text: String)
    {
        #expect(PlacedCursor(text)?.description == text)
    }

    @Test(arguments: ["", "x1", "7.x", "-1.f1", ".f1.", "seven.f1"]) func whatIsNoCursorIsNone(_ text: String) {
        #expect(PlacedCursor(text) == nil)
    }

    @Test func listsOfMembersBecomeOneInTheOrderOfPartitions() {
        let list = QueueList(
            together: [
                ("a", Self.page([("0.f1", "d1", "failed"), ("2.w4", "d4", "waiting"), ("@a.w1", "d6", "waiting")])),
                ("b", Self.page([("1.w9", "d2", "waiting"), ("3.f1", "d5", "failed")])),
            ],
            limit: 4,
            Self.asked
        )
        // What failed comes first; the fifth is for the next answer.
        #expect(list.deliveries.map(\.id) == ["d1", "d5", "d2", "d4"] && list.next == "3.f1")
        #expect(list.deliveries.map(\.member) == ["a", "b", "b", "a"])
    }

    @Test func nothingCountsBehindWhatAMemberHasNotToldYet() {
        let list = QueueList(
            together: [
                ("a", Self.page([("0.w1", "d1", "waiting"), ("0.w2", "d2", "waiting")], next: "0.w2")),
                ("b", Self.page([("1.w1", "d9", "waiting")])),
            ],
            limit: 2,
            Self.asked
        )
        #expect(list.deliveries.map(\.id) == ["d1", "d2"] && list.next == "0.w2")
        // A page that shows nothing of a member, since all of it belongs to nobody any more.
        let empty = QueueList(together: [("a", Self.page([], next: "0.f5"))], limit: 2, Self.asked)
        #expect(empty.deliveries.isEmpty && empty.next == "0.f5")
    }

    private static func status(_ waiting: Int, issue: String? = nil, queue: RouterStatus.Queue? = nil) -> RouterStatus {
        RouterStatus(
            version: "0.1.0",
            startedAt: "2026-11-26T10:00:00.000Z",
            uptime: Int64(waiting),
            issues: issue.map { [RouterStatus.Issue(what: "x", detail: $0, remedy: "look", isGrave: false)] } ?? [],
            events: RouterStatus.Flow(total: 10, perSecond: 1),
            pushes: RouterStatus.Flow(total: 5, perSecond: 0.5),
            latency: RouterStatus.Latency(p50Ms: Int64(waiting), p99Ms: nil),
            waiting: RouterStatus.Waiting(deliveries: waiting, limit: 100, oldest: nil, failed: 1),
            queues: queue.map { [$0] } ?? [],
            relays: RouterStatus.Relays(connected: 1),
            filters: [],
            plugins: [],
            refusedPlugins: [],
            credentials: [],
            disk: RouterStatus.Disk(used: 1, free: Int64(waiting))
        )
    }

    private static func queue(_ waiting: Int, _ state: String) -> RouterStatus.Queue {
        RouterStatus.Queue(
            platform: "ios",
            app: "default",
            state: state,
            waiting: waiting,
            inFlight: 0,
            retrying: 0,
            pausedHosts: 0
        )
    }

    @Test func statusAddsUpAndIsAsBadAsTheWorst() {
        let silent = MembersAsked(answered: ["a", "b"], silent: [.init("c", .absent)])
        let whole = RouterStatus.together(
            [
                ("a", Self.status(3, issue: "disk", queue: Self.queue(3, "ok"))),
                ("b", Self.status(4, issue: "disk", queue: Self.queue(4, "paused"))),
            ],
            silent
        )
        #expect(whole.waiting == RouterStatus.Waiting(deliveries: 7, limit: 200, oldest: nil, failed: 2))
        #expect(whole.events.total == 20 && whole.uptime == 3 && whole.latency.p50Ms == 4 && whole.disk.free == 3)
        #expect(whole.queues.map(\.waiting) == [7] && whole.queues.map(\.state) == ["paused"])
        #expect(whole.issues.map(\.member) == ["a, b", "c"] && whole.issues.map(\.what) == ["x", "member-silent"])
        #expect(whole.issues.last?.says == Statement("member-absent", ["member": "c"]))
        #expect(whole.memberStatus?.map(\.name) == ["a", "b"] && whole.exitCode == 1)
        #expect(whole.text.contains("a, b: disk") && whole.text.contains("the member c is not there"))
    }

    @Test func countsByDayAddUpButDevicesAreTheSame() {
        var one = StatisticsReport([:], by: .app, days: 20_000...20_001)
        var other = one
        one.rows = [.init(day: "2024-10-04", name: "a", delivered: 2, devices: 9)]
        other.rows = [
            .init(day: "2024-10-04", name: "a", matched: 1, delivered: 3, devices: 8),
            .init(day: "2024-10-03", failed: 1),
        ]
        let whole = StatisticsReport.together([one, other], Self.asked)
        #expect(
            whole.rows == [
                .init(day: "2024-10-03", failed: 1),
                .init(day: "2024-10-04", name: "a", matched: 1, delivered: 5, devices: 9),
            ]
        )
    }

    @Test func whatMembersDidIsCountedTogether() {
        var (one, other) = (QueueRetry(dryRun: false), QueueRetry(dryRun: false))
        (one.retried, one.paused) = (2, ["ios/default is paused (x)"])
        one.skip("expired")
        (other.retried, other.hastened, other.paused) = (1, 3, ["ios/default is paused (x)"])
        other.skip("expired", 2)
        one.add(other)
        #expect(one.retried == 3 && one.hastened == 3 && one.paused.count == 1 && one.skipped.map(\.count) == [3])
    }
}

/// What an operator does to a cluster of which this member sees a state after the other.
@Suite struct ClusterOperationsTests {
    private final class Control: ClusterControl {
        private let calls = Mutex<[String]>([])
        var all: [String] { calls.withLock(\.self) }

        func drain(_ isOn: Bool) throws(OperationFailure) { calls.withLock { $0.append("drain \(isOn)") } }

        func move(_ partition: Int, to member: String?) async throws(OperationFailure) {
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

    /// `states` come one after the other, and the last one stays.
    private static func operations(
        _ states: [ClusterStatus],
        _ control: Control,
        _ replies: [String: PeerReply] = [:]
    ) -> ClusterOperations {
        let left = Mutex(states)
        return ClusterOperations(
            status: { left.withLock { $0.count > 1 ? $0.removeFirst() : $0.first } },
            peers: ScriptedPeers("a", replies),
            control: control,
            pause: {}
        )
    }

    @Test func drainingWaitsUntilEverythingIsHandedOver() async throws {
        let control = Control()
        let before = Self.cluster(["a", "b"])
        let states = [
            before, before, Self.cluster(["a", "b"], drained: ["a"]), Self.cluster(["b", "b"], drained: ["a"]),
        ]
        let answer = try await Self.operations(states, control).drain("a", undo: false)
        #expect(answer == ClusterDrain(member: "a", isDrained: true, partitions: 0) && control.all == ["drain true"])
    }

    @Test func anotherMemberIsAsked() async throws {
        let control = Control()
        let states = [Self.cluster(["a", "b"]), Self.cluster(["a", "b"]), Self.cluster(["a", "a"], drained: ["b"])]
        let replies = ["b": PeerReply.answer(MemberAnswer.bytes(true))]
        #expect(try await Self.operations(states, control, replies).drain("b", undo: false).partitions == 0)
        #expect(control.all.isEmpty)
        let absent = Sentence("member-absent", ["member": "b"], "b is not there")
        await #expect(throws: OperationFailure.unavailable(absent)) {
            try await Self.operations([Self.cluster(["a", "b"])], control, ["b": .silence(.absent)])
                .drain("b", undo: false)
        }
        // What it says itself keeps its code.
        let leaving = OperationFailure.unavailable(Sentence("leaving", [:], "this member is leaving the cluster"))
        await #expect(throws: leaving) {
            let replies = ["b": PeerReply.answer(MemberAnswer.refusal(leaving))]
            _ = try await Self.operations([Self.cluster(["a", "b"])], control, replies).drain("b", undo: false)
        }
    }

    @Test func whatCannotBeDoneIsSaid() async throws {
        let control = Control()
        let both = Self.operations([Self.cluster(["a", "b"])], control)
        let names = ["member": "c", "members": "a, b"]
        let unknown = Sentence("unknown-member", names, "there is no member c: they are a, b")
        await #expect(throws: OperationFailure.unknown(unknown)) {
            try await both.drain("c", undo: false)
        }
        let limits = ["partition": "2", "limit": "1"]
        let beyond = Sentence("unknown-partition", limits, "there is no partition 2: they are 0 to 1")
        await #expect(throws: OperationFailure.unknown(beyond)) {
            try await both.move(2, to: "b")
        }
        let last = Self.operations([Self.cluster(["a", "a"], away: ["b"])], control)
        let alone = Sentence("drain-last", ["member": "a"], "no other member could take the partitions of a")
        await #expect(throws: OperationFailure.unavailable(alone)) {
            try await last.drain("a", undo: false)
        }
        let words = "b takes no partitions: it is drained, leaving or away"
        let away = OperationFailure.unavailable(Sentence("takes-no-partitions", ["member": "b"], words))
        await #expect(throws: away) {
            try await last.move(0, to: "b")
        }
        #expect(control.all.isEmpty)
    }

    @Test func membersThatDifferAreSaidToDiffer() {
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
