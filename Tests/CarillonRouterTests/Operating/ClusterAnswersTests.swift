import Console
import Core
import DeliveryTestSupport
import Nostr
import Synchronization
import Testing

@testable import Operations

/// Members with configured responses.
private final class ScriptedPeers: Peers {
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

    func tell(_ bytes: [UInt8], to member: String) {}
}

@Suite struct MemberSurveyTests {
    private static func ask(
        _ peers: ScriptedPeers?,
        here: @escaping @Sendable () throws -> [Int64] = { [1] }
    ) async throws
        -> MemberSurvey.Result<[Int64]>
    { try await MemberSurvey(peers: peers).question("test") { (_: NoParameters) in try here() }.ask(NoParameters()) }

    @Test func standaloneRouterAsksNoOtherMember() async throws {
        let result = try await Self.ask(nil)
        #expect(result.answers.map(\.answer) == [[1]] && result.asked == nil)
        await #expect(throws: OperationError.unknown("none")) {
            try await Self.ask(nil) { throw OperationError.unknown("none") }
        }
    }

    @Test func unresponsiveMembersAreNamedAndOtherResponsesAreShown() async throws {
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
                "c does not answer in time: its data is missing here",
                "d says: the outbox is full: its data is missing here",
                "e responds in the format of another version: its data is missing here",
                "f responds in the format of another version: its data is missing here",
            ]
        )
    }

    @Test func invalidRequestIsAnError() async throws {
        let peers = ScriptedPeers("b", ["a": .answer(MemberAnswer.bytes([Int64(7)]))])
        await #expect(throws: OperationError.invalid("since")) {
            try await Self.ask(peers) { throw OperationError.invalid("since") }
        }
        // A failure of only this member does not suppress the other members' responses.
        let result = try await Self.ask(peers) { throw OperationError.unavailable("full") }
        #expect(result.answers.map(\.member) == ["a"] && result.asked?.silent.map(\.name) == ["b"])
        let silent = ScriptedPeers("b", ["a": .silence(.absent)])
        await #expect(throws: OperationError.unavailable("full")) {
            try await Self.ask(silent) { throw OperationError.unavailable("full") }
        }
    }

    @Test(arguments: [
        OperationError.invalid(Sentence("key", ["member": "the user"], "the user: expected npub1…")),
        .unknown(Sentence("unknown-device", ["device": "7"], "there is no device 7")),
        .unavailable(Sentence("retry-full", [:], "the outbox is full")), .unavailable("error 5 of SQLite"),
    ]) func refusalsArriveWithTheirCodes(_ refusal: OperationError) async throws {
        let bytes = MemberAnswer.refusal(refusal)
        #expect(throws: refusal) { try MemberAnswer.read(bytes, as: Bool.self) }
        // If no member has an answer, the refusal is the result.
        let result = try await Self.ask(ScriptedPeers("b", ["a": .answer(bytes)]))
        #expect(result.asked?.silent.map(\.says) == [refusal.says])
        #expect(result.asked?.silent.map(\.reason) == ["says: \(refusal.description)"])
    }

    @Test func refusalsOfFormerVersionsHaveOnlyAMessage() {
        let bytes = [1] + Array(#"{"kind":"unknown","words":"there is no delivery x"}"#.utf8)
        #expect(throws: OperationError.unknown("there is no delivery x")) {
            try MemberAnswer.read(bytes, as: Bool.self)
        }
    }

    @Test func responseTooLongForAMessageIsRefused() {
        let long = MemberAnswer.bytes([String(repeating: "x", count: MemberAnswer.longest)])
        #expect(long.first == 1 && long.count < 200)
    }

    @Test func membersAnswerKnownRequests() async throws {
        let asked = MemberSurvey(peers: nil)
        _ = asked.question("double") { (number: Int64) in [2 * number] }
        _ = asked.question("none") { (text: String?) in text ?? "-" }
        _ = asked.question("refused") { (_: NoParameters) throws -> Bool in throw OperationError.unknown("no") }
        func answer(_ question: String) async -> [UInt8] { await asked.answer(Array(question.utf8)) }
        #expect(try MemberAnswer.read(await answer(#"{"question":"double","of":4}"#), as: [Int64].self) == [8])
        #expect(try MemberAnswer.read(await answer(#"{"question":"none","of":null}"#), as: String.self) == "-")
        let refusal = await answer(#"{"question":"refused","of":{}}"#)
        #expect(throws: OperationError.unknown("no")) { try MemberAnswer.read(refusal, as: Bool.self) }
        for question in [#"{"question":"other","of":{}}"#, #"{"question":"double","of":"x"}"#, "", "[]"] {
            let bytes = await answer(question)
            let failure = #expect(throws: OperationError.self) { try MemberAnswer.read(bytes, as: [Int64].self) }
            #expect(failure?.says?.code == "unknown-question")
        }
    }

    @Test func oneMemberIsAskedAlone() async throws {
        let peers = ScriptedPeers(
            "a",
            ["b": .answer(MemberAnswer.bytes(true)), "c": .silence(.late), "d": .answer([9])]
        )
        let question = MemberSurvey(peers: peers).question("test") { (isOn: Bool) in isOn }
        #expect(try await question.ask(true, of: "b") && peers.askedMembers == ["b"])
        for (member, code) in [("c", "member-late"), ("d", "member-version")] {
            let failure = await #expect(throws: OperationError.self) { try await question.ask(true, of: member) }
            #expect(failure?.says?.code == code)
        }
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

    @Test(arguments: ["f12", "w3", "7.w3", "0.f1", "@router-1.f2"]) func cursorsRoundTrip(_ text: String) {
        #expect(PlacedCursor(text)?.description == text)
    }

    @Test(arguments: ["", "x1", "7.x", "-1.f1", ".f1.", "seven.f1"]) func invalidCursorIsRefused(_ text: String) {
        #expect(PlacedCursor(text) == nil)
    }

    @Test func memberListsAreMergedByPartition() {
        let list = QueueList(
            together: [
                ("a", Self.page([("0.f1", "d1", "failed"), ("2.w4", "d4", "waiting"), ("@a.w1", "d6", "waiting")])),
                ("b", Self.page([("1.w9", "d2", "waiting"), ("3.f1", "d5", "failed")])),
            ],
            limit: 4,
            Self.asked
        )
        // Failed deliveries come first; the fifth is for the next response.
        #expect(list.deliveries.map(\.id) == ["d1", "d5", "d2", "d4"] && list.next == "3.f1")
        #expect(list.deliveries.map(\.member) == ["a", "b", "b", "a"])
    }

    @Test func countsStopAtAMembersUnreadPage() {
        let list = QueueList(
            together: [
                ("a", Self.page([("0.w1", "d1", "waiting"), ("0.w2", "d2", "waiting")], next: "0.w2")),
                ("b", Self.page([("1.w1", "d9", "waiting")])),
            ],
            limit: 2,
            Self.asked
        )
        #expect(list.deliveries.map(\.id) == ["d1", "d2"] && list.next == "0.w2")
        // A page without deliveries of a member, because none of them belongs to an owner now.
        let empty = QueueList(together: [("a", Self.page([], next: "0.f5"))], limit: 2, Self.asked)
        #expect(empty.deliveries.isEmpty && empty.next == "0.f5")
    }

    private static func status(_ waiting: Int, issue: String? = nil, queue: RouterStatus.Queue? = nil) -> RouterStatus {
        RouterStatus(
            version: "0.1.0",
            startedAt: "2026-11-26T10:00:00.000Z",
            uptime: Int64(waiting),
            issues: issue.map { [RouterStatus.Issue(code: "x", message: $0, fix: "look", severity: .warning)] } ?? [],
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

    @Test func errorsOfAllMembersComeBeforeWarnings() {
        var other = Self.status(1, issue: "outbox")
        other.issues[0].severity = .error
        let asked = MembersAsked(answered: ["a", "b"], silent: [])
        let whole = RouterStatus.joined([("a", Self.status(1, issue: "disk")), ("b", other)], asked)
        #expect(whole.issues.map(\.message) == ["outbox", "disk"])
    }

    @Test func statusIsSummedWithTheWorstState() {
        let silent = MembersAsked(answered: ["a", "b"], silent: [.init("c", .absent)])
        let whole = RouterStatus.joined(
            [
                ("a", Self.status(3, issue: "disk", queue: Self.queue(3, "ok"))),
                ("b", Self.status(4, issue: "disk", queue: Self.queue(4, "paused"))),
            ],
            silent
        )
        #expect(whole.waiting == RouterStatus.Waiting(deliveries: 7, limit: 200, oldest: nil, failed: 2))
        #expect(whole.events.total == 20 && whole.uptime == 3 && whole.latency.p50Ms == 4 && whole.disk.free == 3)
        #expect(whole.queues.map(\.waiting) == [7] && whole.queues.map(\.state) == ["paused"])
        #expect(whole.issues.map(\.member) == ["a, b", "c"] && whole.issues.map(\.code) == ["x", "member-silent"])
        #expect(whole.issues.last?.params == Statement("member-absent", ["member": "c"]))
        #expect(whole.memberStatus?.map(\.name) == ["a", "b"] && whole.exitCode == 1)
        #expect(whole.text.contains("a, b: disk") && whole.text.contains("the member c is not connected"))
    }

    @Test func dailyCountsAreSummedButDevicesAreNot() {
        var one = StatisticsReport([:], by: .app, days: 20_000...20_001)
        var other = one
        one.rows = [.init(day: "2024-10-04", name: "a", delivered: 2, devices: 9)]
        other.rows = [
            .init(day: "2024-10-04", name: "a", matched: 1, delivered: 3, devices: 8),
            .init(day: "2024-10-03", failed: 1),
        ]
        let whole = StatisticsReport.joined([("a", one), ("b", other)], Self.asked)
        #expect(
            whole.rows == [
                .init(day: "2024-10-03", failed: 1),
                .init(day: "2024-10-04", name: "a", matched: 1, delivered: 5, devices: 9),
            ]
        )
    }

    @Test func retriesOfAllMembersAreAddedUp() {
        var (one, other) = (QueueRetry(dryRun: false), QueueRetry(dryRun: false))
        (one.retried, one.paused) = (2, ["ios/default is paused (x)"])
        one.skip("expired")
        (other.retried, other.expedited, other.paused) = (1, 3, ["ios/default is paused (x)"])
        other.skip("expired", 2)
        one.add(other)
        #expect(one.retried == 3 && one.expedited == 3 && one.paused.count == 1 && one.skipped.map(\.count) == [3])
    }
}
