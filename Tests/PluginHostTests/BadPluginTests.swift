import HTTPLanes
import Notifications
import PluginHost
import PluginIsolation
import Synchronization
import Testing
import TimeTestSupport
import Units

/// Plugins that break down in every way: each is named with what it did, and a healthy plugin goes on delivering.
@Suite(.timeLimit(.minutes(2)))
struct BadPluginTests {
    /// What breaks down, and what its end is called.
    struct Breakdown: Sendable, CustomTestStringConvertible {
        let function: String
        /// One of these is in the report.
        let words: [String]

        var testDescription: String { function }
    }

    static let breakdowns = [
        Breakdown(function: "crash", words: ["SIGSEGV"]),
        Breakdown(function: "leave", words: ["exited with status"]),
        Breakdown(function: "loop", words: ["did not return", "did not answer"]),
        Breakdown(function: "sleep_on", words: ["did not return", "did not answer"]),
        Breakdown(function: "leak", words: ["SIG"]),
        Breakdown(function: "shut", words: ["exited with status", "closed its connection"]),
        Breakdown(function: "scribble", words: ["was ended, because it sent", "exited with status"]),
    ]

    private static var settings: IsolationSettings {
        var settings = IsolationSettings.forTests
        settings.deadline = .seconds(1)
        settings.questionDeadline = .milliseconds(600)
        settings.memory = .mebibytes(64)
        return settings
    }

    /// A bad plugin beside a healthy one that delivers all the time.
    private final class Ward: Sendable {
        let workshop: Workshop
        let host: PluginHost
        let log = LogBook()
        let healthy: TransportInstance
        private let delivered = Mutex(0)
        private let others = Mutex<[Outcome]>([])
        private let isOver = Mutex(false)

        init(_ breakdown: Breakdown, at place: String, _ flags: String...) throws {
            workshop = try Workshop()
            try workshop.compile("behaviour.c", to: "healthy.so")
            try workshop.compile("bad.c", to: "bad.so", ["-DBAD=\(breakdown.function)", "-DAT_\(place)"] + flags)
            host = workshop.load(isolation: BadPluginTests.settings, log: log)
            healthy = try host.makeTransport(
                platform: "fixture",
                app: "default",
                configuration: #"{"do":"inline"}"#,
                settings: InstanceSettings(sender: RecordingHTTP(), log: log.logger)
            )
            deliverOn()
        }

        /// Delivers the next as soon as one has ended.
        private func deliverOn() {
            healthy.deliver(.greeting, id: Bench.id, to: .somewhere) { [weak self] outcome in
                guard let self, !isOver.withLock(\.self) else { return }
                if outcome.kind == .delivered {
                    delivered.withLock { $0 += 1 }
                } else {
                    others.withLock { $0.append(outcome) }
                }
                deliverOn()
            }
        }

        func transport() throws -> TransportInstance {
            try host.makeTransport(
                platform: "bad",
                app: "default",
                configuration: "{}",
                settings: InstanceSettings(sender: RecordingHTTP(), log: log.logger)
            )
        }

        func filter() throws -> FilterInstance {
            try host.makeFilter(
                "bad",
                configuration: "{}",
                settings: InstanceSettings(sender: RecordingHTTP(), log: log.logger)
            )
        }

        var report: PluginProcessReport? { host.processReports.first { $0.plugins == ["bad.so"] } }

        /// Checks that the death is reported, and that the healthy plugin delivers before and after this.
        func expect(_ breakdown: Breakdown, deaths: ClosedRange<Int>) async {
            #expect(await eventually { self.report?.lastDeath != nil && self.report?.state == .running })
            let death = report?.lastDeath ?? "none"
            #expect(breakdown.words.contains { death.contains($0) }, "\(death)")
            #expect(death.hasPrefix("bad.so "))
            #expect(deaths.contains(report?.deaths ?? 0), "\(report?.deaths ?? 0) deaths")
            await expectHealth()
        }

        func expectHealth() async {
            let before = delivered.withLock(\.self)
            #expect(await eventually { self.delivered.withLock(\.self) > before + 10 })
            #expect(others.withLock(\.self) == [])
            #expect(host.processReports.first { $0.plugins == ["healthy.so"] }?.deaths == 0)
            isOver.withLock { $0 = true }
            await host.shutDown(within: .seconds(20))
        }

        func outcome(of instance: TransportInstance) async -> Outcome {
            await withCheckedContinuation { continuation in
                instance.deliver(.greeting, id: Bench.id, to: .somewhere) { continuation.resume(returning: $0) }
            }
        }
    }

    @Test(arguments: breakdowns) func atItsEntry(_ breakdown: Breakdown) async throws {
        let ward = try Ward(breakdown, at: "ENTRY")
        #expect(ward.host.catalog.plugins.map(\.id) == ["org.example.behaviour"])
        let refusal = try #require(ward.host.catalog.refusals.first)
        #expect(refusal.path.hasSuffix("/bad.so"))
        #expect(breakdown.words.contains { refusal.description.contains($0) }, "\(refusal)")
        await ward.expectHealth()
    }

    /// The router has not heard of the library by then, but the process knows it.
    @Test(arguments: ["ENTRY", "LOAD"]) func aCrashWhileItLoadsNamesThePlace(_ place: String) async throws {
        let ward = try Ward(Breakdown(function: "crash", words: []), at: place)
        let refusal = try #require(ward.host.catalog.refusals.first)
        #expect(refusal.description.contains("crashed with SIGSEGV in bad.so+0x"), "\(refusal)")
        await ward.expectHealth()
    }

    @Test(arguments: breakdowns) func whenItCreatesAnInstance(_ breakdown: Breakdown) async throws {
        let ward = try Ward(breakdown, at: "CREATE")
        let error = #expect(throws: PluginError.self) { _ = try ward.transport() }
        let text = error?.description ?? "nothing"
        #expect(breakdown.words.contains { text.contains($0) } || text.contains("its process"), "\(text)")
        await ward.expect(breakdown, deaths: 1...1)
    }

    @Test(arguments: breakdowns) func whenItValidates(_ breakdown: Breakdown) async throws {
        let ward = try Ward(breakdown, at: "VALIDATE")
        let instance = try ward.transport()
        #expect(throws: PluginError.self) { try instance.validate(.somewhere) }
        await ward.expect(breakdown, deaths: 1...1)
    }

    /// It dies with the delivery, and again with it alone, twice.
    @Test(arguments: breakdowns) func whenItDelivers(_ breakdown: Breakdown) async throws {
        let ward = try Ward(breakdown, at: "DELIVER")
        let instance = try ward.transport()
        #expect(await ward.outcome(of: instance) == Outcome(.rejected, reason: "plugin-crashed"))
        #expect(ward.report?.setAside == 1)
        await ward.expect(breakdown, deaths: 3...3)
    }

    @Test(arguments: breakdowns) func whenItIsAnswered(_ breakdown: Breakdown) async throws {
        let ward = try Ward(breakdown, at: "DONE")
        let instance = try ward.transport()
        #expect(await ward.outcome(of: instance) == Outcome(.rejected, reason: "plugin-crashed"))
        await ward.expect(breakdown, deaths: 3...3)
    }

    @Test(arguments: breakdowns) func whenItDecides(_ breakdown: Breakdown) async throws {
        let ward = try Ward(breakdown, at: "DECIDE")
        let filter = try ward.filter()
        let question = FilterQuestion(
            event: Array("{}".utf8),
            recipient: "r",
            recipientEvents: [],
            signal: .mention,
            now: 1_770_000_000_000,
            notification: nil
        )
        #expect(filter.decide(question) == .failed(reason: "status 4"))
        await ward.expect(breakdown, deaths: 1...1)
    }

    @Test(arguments: breakdowns) func whenItIsDestroyed(_ breakdown: Breakdown) async throws {
        let ward = try Ward(breakdown, at: "DESTROY")
        let instance = try ward.transport()
        #expect(await ward.outcome(of: instance).kind == .delivered)
        #expect(await instance.drain(within: .seconds(10)))
        await ward.expect(breakdown, deaths: 1...1)
    }

    /// What breaks rules without breaking down is counted, and costs no process.
    @Test func answersThatNobodyWaitsForAreCounted() async throws {
        let harmless = Breakdown(function: "nothing", words: [])
        let ward = try Ward(harmless, at: "ENTRY", "-DTWICE", "-DHUGE_LENGTHS")
        let instance = try ward.transport()
        #expect(await ward.outcome(of: instance).kind == .delivered)
        #expect(await eventually { instance.statistics.unknownTickets == 2 })
        #expect(await eventually { instance.statistics.malformedRequests == 1 })
        #expect(await instance.drain(within: .seconds(10)))
        #expect(ward.report?.deaths == 0)
        await ward.expectHealth()
    }
}
