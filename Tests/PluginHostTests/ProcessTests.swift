import CommandTestSupport
import Core
import CostTestSupport
import Foundation
import Glibc
import HTTPClient
import Logging
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import PluginHost

/// Plugins in their own processes, seen from the router.
@Suite(.timeLimit(.minutes(2)))
struct ProcessTests {
    private func load(_ workshop: Workshop, _ change: (inout IsolationSettings) -> Void = { _ in }) -> PluginHost {
        var settings = IsolationSettings.forTests
        change(&settings)
        return workshop.load(isolation: settings)
    }

    private func make(
        _ host: PluginHost,
        doing behaviour: String,
        http: any HTTPSender = RecordingHTTP()
    ) throws
        -> TransportInstance
    {
        try host.makeTransport(
            platform: "fixture",
            app: "default",
            configuration: #"{"do":"\#(behaviour)"}"#,
            settings: InstanceSettings(sender: http, log: LogBook().logger)
        )
    }

    /// A registration that `behaviour.c` accepts.
    private static let valid = DeviceAddress(
        platform: "fixture",
        app: "default",
        token: "token",
        fields: ["a": "1", "b": "2"],
        registeredAt: 1
    )

    @Test func aDeliveryGoesThroughItsProcess() async throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "plugin.so")
        let host = load(workshop)
        #expect(host.catalog.refusals == [])
        let http = RecordingHTTP()
        let instance = try make(host, doing: "request", http: http)
        #expect(await instance.outcome().reason == "answered")
        let request = try #require(http.requests.first)
        #expect(request.method == "POST" && request.body == Array("Hello".utf8))
        let report = try #require(host.processReports.first)
        #expect(report.plugins == ["plugin.so"] && report.state == .running && report.crashes == 0)
        #expect(report.confinement == "files, system calls")
        #expect(report.process.map { kill($0, 0) == 0 } == true)
        await host.shutDown(within: .seconds(10))
        #expect(host.processReports.first?.process == nil)
        #expect(await eventually { report.process.map { kill($0, 0) != 0 } == true })
    }

    @Test func theProcessEndsWithTheHost() async throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "plugin.so")
        var host: PluginHost? = load(workshop)
        let process = try #require(host?.processReports.first?.process)
        #expect(kill(process, 0) == 0)
        host = nil
        #expect(await eventually { kill(process, 0) != 0 })
    }

    @Test func restingProcessIsRestarted() async throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "plugin.so")
        let host = load(workshop)
        let first = try make(host, doing: "inline")
        #expect(await host.retire(first, within: .seconds(10)))
        #expect(host.processReports.first?.process == nil)
        let second = try make(host, doing: "inline")
        #expect(await second.outcome().kind == .delivered)
        #expect(host.processReports.first?.crashes == 0)
    }

    /// The new process has created the instance by then, but does not work yet.
    @Test func instanceDestroyedDuringARestartDoesNotSurvive() async throws {
        let workshop = try Workshop()
        try workshop.compile("slow.c", to: "plugin.so")
        let log = LogBook()
        let host = workshop.load(isolation: .forTests, log: log)
        @Sendable func count(_ line: String) -> Int { log.lines.count { $0.metadata["line"]?.description == line } }
        let quick = try make(host, doing: "quick")
        let slow = try make(host, doing: "slow")
        let process = try #require(host.processReports.first?.process)
        kill(process, SIGKILL)
        #expect(await eventually { count("making the slow one") == 2 })
        #expect(host.processReports.first?.process == nil)
        #expect(await host.retire(quick, within: .seconds(10)))
        #expect(await eventually { count("destroyed the quick one") == 1 })
        #expect(count("made the quick one") == 2 && count("destroyed the slow one") == 0)
        #expect(await host.retire(slow, within: .seconds(10)))
    }

    /// Memory that the kernel's data limit does not count. The sandbox denies memory that processes could share.
    @Test(arguments: [("stack-memory", true), ("shared-memory", false)])
    func aProcessThatTakesTooMuchMemoryEnds(_ behaviour: String, _ isSandboxed: Bool) async throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "plugin.so")
        let host = load(workshop) {
            $0.memory = .mebibytes(64)
            $0.isSandboxed = isSandboxed
        }
        let instance = try make(host, doing: behaviour)
        #expect(await instance.outcome() == Outcome(.rejected, reason: "plugin-crashed"))
        let report = try #require(host.processReports.first)
        #expect(report.abandoned == 1)
        #expect(report.lastCrash?.contains("exceeded its memory limit") == true)
    }

    @Test func memoryToShareIsRefused() async throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "plugin.so")
        let host = load(workshop)
        #expect(try await make(host, doing: "shared-memory").outcome().reason == "no-memory")
        #expect(host.processReports.first?.crashes == 0)
    }

    @Test func outOfMemoryKillerPrefersPlugins() throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "plugin.so")
        let host = load(workshop)
        let process = try #require(host.processReports.first?.process)
        func score(_ id: String) throws -> Int? {
            let text = try String(contentsOfFile: "/proc/\(id)/oom_score_adj", encoding: .utf8)
            return Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        #expect(try #require(try score("\(process)")) > (try #require(try score("self"))))
    }

    /// Their names mark them as part of Carillon.
    @Test func pluginsMayShareAProcess() async throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "libCarillonAPNs.so")
        try workshop.compile("descriptor.c", to: "libCarillonFCM.so", [#"-DPLATFORM="other""#])
        try workshop.compile("bad.c", to: "libCarillonGotify.so", ["-DBAD=crash", "-DAT_ENTRY", #"-DPLATFORM="bad""#])
        try workshop.compile("filter.c", to: "libCarillonMutes.so")
        let host = load(workshop)
        #expect(host.catalog.refusals.map(\.path) == [workshop.path("libCarillonGotify.so")])
        #expect(
            host.catalog.plugins.map(\.path)
                == ["libCarillonAPNs.so", "libCarillonFCM.so", "libCarillonMutes.so"].map(workshop.path)
        )
        #expect(
            host.processReports.map(\.plugins) == [["libCarillonAPNs.so", "libCarillonFCM.so", "libCarillonMutes.so"]]
        )
        #expect(try await make(host, doing: "inline").outcome().kind == .delivered)
        let filter = try host.makeFilter(
            "fixture",
            configuration: #"{"do":"drop"}"#,
            settings: InstanceSettings(sender: RecordingHTTP(), log: LogBook().logger)
        )
        let question = FilterQuestion(
            event: Array("{}".utf8),
            recipient: "r",
            recipientEvents: [],
            signal: .mention,
            now: 1_770_000_000_000,
            notification: nil
        )
        #expect(filter.decide(question) == .drop(reason: "because"))
    }

    /// The others share its process at first. They wait for one restart, are not tried separately, and lose nothing.
    @Test(arguments: ["crash", "leave", "loop"]) func onePluginThatDiesDoesNotStopTheOthers(_ how: String) async throws
    {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "libCarillonFCM.so")
        try workshop.compile("bad.c", to: "libCarillonAPNs.so", ["-DBAD=\(how)", #"-DPLATFORM="bad""#])
        let host = load(workshop) {
            $0.deadline = .seconds(1)
            $0.pause = .minutes(1)
        }
        #expect(host.processReports.map(\.plugins) == [["libCarillonAPNs.so", "libCarillonFCM.so"]])
        let good = try make(host, doing: "request")
        let bad = try host.makeTransport(
            platform: "bad",
            app: "default",
            configuration: #"{"at":"deliver"}"#,
            settings: InstanceSettings(sender: RecordingHTTP(), log: LogBook().logger)
        )
        await withTaskGroup { group in
            group.addTask { #expect(await bad.outcome() == Outcome(.rejected, reason: "plugin-crashed")) }
            for _ in 0..<100 { group.addTask { #expect(await good.outcome().reason == "answered") } }
            group.addTask { #expect(throws: Never.self) { for _ in 0..<20 { try good.validate(Self.valid) } } }
        }
        let reports = host.processReports
        #expect(reports.map(\.plugins) == [["libCarillonAPNs.so"], ["libCarillonFCM.so"]])
        #expect(reports.map(\.crashes) == [3, 1] && reports.map(\.abandoned) == [1, 0])
        #expect(await good.outcome().reason == "answered")
        await host.shutDown(within: .seconds(10))
    }

    /// A registration that cannot be checked now may be taken later.
    @Test func registrationWaitsForARestartOrIsRetried() async throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "plugin.so")
        let host = load(workshop) {
            $0.questionDeadline = .seconds(1)
            $0.pause = .minutes(1)
        }
        let instance = try make(host, doing: "inline")
        func end(_ signal: Int32) throws { kill(try #require(host.processReports.first?.process), signal) }
        try end(SIGSTOP)
        let status = "/proc/\(try #require(host.processReports.first?.process))/stat"
        #expect(await eventually { (try? String(contentsOfFile: status, encoding: .utf8))?.contains(") T ") == true })
        #expect(try #require(throws: PluginError.self) { try instance.validate(Self.valid) }.isTemporary)
        try end(SIGCONT)
        try instance.validate(Self.valid)
        try end(SIGKILL)
        #expect(await eventually { host.processReports.first?.crashes == 1 })
        #expect(await eventually { (try? instance.validate(Self.valid)) != nil })
        try end(SIGKILL)
        #expect(await eventually { host.processReports.first?.crashes == 2 })
        let begin = Deadline.now()
        #expect(try #require(throws: PluginError.self) { try instance.validate(Self.valid) }.isTemporary)
        #expect(Deadline.now() - begin < .seconds(1), "nobody waits for what comes in a minute")
    }

    @Test func bundledPluginsShareOneProcess() throws {
        let workshop = try Workshop()
        let built = URL(filePath: BuiltFile.pluginHost).deletingLastPathComponent()
        let names = ["APNs", "FCM", "Gotify", "Mutes", "Noise", "Ntfy", "UnifiedPush", "WebOfTrust", "WebPush"]
        let files = names.map { "libCarillon\($0).so" }
        for file in files { try workshop.write(try Data(contentsOf: built.appending(path: file)), to: file) }
        try workshop.compile("behaviour.c", to: "other.so")
        let host = load(workshop)
        #expect(host.catalog.refusals == [])
        #expect(host.processReports.map(\.plugins) == [files, ["other.so"]])
        for check in host.blockChecks.values { _ = check("{}") }
        #expect(host.processReports.allSatisfy { $0.crashes == 0 && $0.confinement == "files, system calls" })
    }

    /// The process ends with its last user.
    @Test func checkOutlivesItsHost() async throws {
        let workshop = try Workshop()
        try workshop.compile("descriptor.c", to: "plugin.so", [#"-DCHECK_REFUSES="bad""#, #"-DCHECK_SAYS="no""#])
        var host: PluginHost? = load(workshop)
        var check = host?.blockChecks["fixture"]
        let process = try #require(host?.processReports.first?.process)
        host = nil
        #expect(check?("bad") == "no" && check?("good") == nil)
        check = nil
        #expect(await eventually { kill(process, 0) != 0 })
    }

    @Test func withoutTheProgramPluginsAreRefused() throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "a.so")
        let host = load(workshop) { $0.program = "/nonexistent/program" }
        let reason = try #require(host.catalog.refusals.first?.reason)
        #expect("\(reason)".contains("/nonexistent/program"), "\(reason)")
    }

    /// Questions of one group: the one during which the process crashes or hangs gets no decision. The later ones are
    /// asked again, up to a second crash.
    @Test(arguments: [
        (["a", "b", "dies", "c", "d"], ["a", "b", nil, "c", "d"], 1),
        (["dies", "a"], [nil, "a"], 1),
        (["a", "dies"], ["a", nil], 1),
        (["a", "dies", "b", "dies", "c"], ["a", nil, "b", nil, nil], 2),
        (["a", "hangs", "b"], ["a", nil, "b"], 1),
    ])
    func aFilterMayDieAmidQuestions(recipients: [String], reasons: [String?], crashes: Int) async throws {
        let workshop = try Workshop()
        try workshop.compile("filter.c", to: "plugin.so")
        let host = load(workshop) { if recipients.contains("hangs") { $0.questionDeadline = .seconds(1) } }
        let filter = try host.makeFilter(
            "fixture",
            configuration: #"{"do":"stumble"}"#,
            settings: InstanceSettings(sender: RecordingHTTP(), log: LogBook().logger)
        )
        let questions = recipients.map {
            FilterQuestion(event: Array("{}".utf8), recipient: $0, signal: .mention, now: 1_770_000_000_000)
        }
        let decisions = filter.decide(questions)
        #expect(decisions == reasons.map { $0.map { .drop(reason: $0) } ?? .failed(reason: "status 4") })
        #expect(await eventually { host.processReports.first?.crashes == crashes })
        // Another event is decided normally.
        #expect(await eventually { host.processReports.first?.process != nil })
        #expect(
            filter.decide(questions.filter { $0.recipient.count == 1 }).allSatisfy { $0 != .failed(reason: "status 4") }
        )
    }

    /// Deliveries in progress when the process was killed are delivered again, and no others.
    @Test func killedPluginsLoseAndRepeatNoDelivery() async throws {
        let workshop = try Workshop()
        try workshop.compile("behaviour.c", to: "plugin.so")
        let host = load(workshop)
        let run = KillRun()
        let instance = try make(host, doing: "request", http: RecordingHTTP(answer: run.answer))
        let (count, kills) = (TestLength.rounds(800, long: 4_000), TestLength.rounds(20, long: 100))
        await withTaskGroup { group in
            for worker in 0..<16 {
                group.addTask {
                    for number in stride(from: worker, to: count, by: 16) {
                        let notification = Notification(mode: .alert, signal: .dm, body: "\(number)")
                        let outcome = await withCheckedContinuation { continuation in
                            instance.deliver(notification) {
                                run.end(number)
                                continuation.resume(returning: $0)
                            }
                        }
                        run.note(outcome)
                    }
                }
            }
            group.addTask {
                for killed in 1...kills {
                    // By then, deliveries in progress at the previous kill have been tried separately.
                    let next = killed * count / (kills + 1)
                    guard await eventually({ run.ended >= next }) else { return }
                    guard await eventually({ host.processReports.first?.process != nil }) else { return }
                    if let process = host.processReports.first?.process { kill(process, SIGKILL) }
                }
            }
        }
        #expect(run.outcomes == ["answered": count])
        #expect(run.repeatedAfterEnd == [])
        let crashes = host.processReports.first?.crashes ?? 0
        #expect((kills * 4 / 5...kills).contains(crashes), "\(crashes) crashes")
        #expect(run.requests - count <= 16 * 2 * crashes, "\(run.requests - count) repeated")
        #expect(host.processReports.first?.abandoned == 0)
    }

    /// The requested and the completed deliveries.
    private final class KillRun: Sendable {
        private struct State {
            var requests = 0
            var ended: Set<Int> = []
            var repeated: [Int] = []
            var outcomes: [String: Int] = [:]
        }

        private let state = Mutex(State())

        var requests: Int { state.withLock(\.requests) }
        var ended: Int { state.withLock(\.ended.count) }
        var repeatedAfterEnd: [Int] { state.withLock(\.repeated) }
        var outcomes: [String: Int] { state.withLock(\.outcomes) }

        @Sendable func answer(_ request: HTTPRequest) -> Result<HTTPResponse, HTTPError> {
            state.withLock { state in
                state.requests += 1
                let number = Int(String(decoding: request.body, as: UTF8.self)) ?? -1
                if state.ended.contains(number) { state.repeated.append(number) }
            }
            return .success(HTTPResponse(status: 200))
        }

        func end(_ number: Int) { state.withLock { _ = $0.ended.insert(number) } }

        func note(_ outcome: Outcome) { state.withLock { $0.outcomes[outcome.reason, default: 0] += 1 } }
    }
}
