import Core
import CostTestSupport
import Dispatch
import Foundation
import HTTPClient
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import PluginHost

/// Plugins that fail in every way at every place: each is named with its failure, and a healthy plugin keeps
/// delivering. All kinds run in parallel in their own processes, because they mostly wait for deadlines.
@Suite(.timeLimit(.minutes(2)))
struct BadPluginTests {
    /// A function of `bad.c` that fails. The report of its end contains one of the words.
    struct Breakdown: Sendable, CustomStringConvertible {
        let function: String
        let words: [String]
        /// Whether it requires C++.
        var isCPlusPlus = false

        var description: String { function }
        var library: String { "\(function).so" }

        static let all = [
            Breakdown(function: "crash", words: ["SIGSEGV"]),
            Breakdown(function: "leave", words: ["exited with status 0"]),
            Breakdown(function: "throws", words: ["SIGABRT"], isCPlusPlus: true),
            Breakdown(function: "loop", words: ["did not return", "did not answer"]),
            Breakdown(function: "sleep_on", words: ["did not return", "did not answer"]),
            // A busy machine may not give it the time to fill its memory.
            Breakdown(function: "leak", words: ["SIG", "did not return"]),
            Breakdown(function: "shut", words: ["exited with status", "closed its connection"]),
            Breakdown(function: "scribble", words: ["was ended, because it sent", "exited with status"]),
            // No fork succeeds, so all that is left is a call that does not return.
            Breakdown(function: "fork_bomb", words: ["did not return", "did not answer"]),
        ]
    }

    /// The place of the failure: a word of `bad.c`'s configuration.
    enum Place: String, Sendable, CaseIterable { case create, validate, deliver, done, decide, destroy }

    /// All bad plugins, and a healthy one that delivers all the time.
    private final class Ward: Sendable {
        let host: PluginHost
        private let workshop: Workshop
        private let log = LogBook()
        private let healthy: TransportInstance
        private let delivered = Mutex(0)
        private let others = Mutex<[Outcome]>([])
        private let isOver = Mutex(false)

        init(_ breakdowns: [Breakdown] = Breakdown.all, _ flags: String...) throws {
            workshop = try Workshop()
            try workshop.compile("behaviour.c", to: "healthy.so")
            for breakdown in breakdowns { try Self.compile(breakdown, flags, in: workshop) }
            var settings = IsolationSettings.forTests
            settings.deadline = .seconds(1)
            settings.questionDeadline = .seconds(1)
            settings.memory = .mebibytes(64)
            host = workshop.load(isolation: settings, log: log)
            healthy = try host.makeTransport(
                platform: "fixture",
                app: "default",
                configuration: #"{"do":"inline"}"#,
                settings: InstanceSettings(sender: RecordingHTTP(), log: log.logger)
            )
            deliverOn()
        }

        private static func compile(_ breakdown: Breakdown, _ flags: [String], in workshop: Workshop) throws {
            let flags = ["-DBAD=\(breakdown.function)", #"-DPLATFORM="\#(breakdown.function)""#] + flags
            guard breakdown.isCPlusPlus else {
                try workshop.compile("bad.c", to: breakdown.library, flags)
                return
            }
            let image = try CompiledLibrary.image(
                of: Workshop.fixtures.appending(path: "bad.c").path,
                ["-x", "c++", "-std=c++20", "-w", "-I", Workshop.include, "-lstdc++"] + flags
            )
            try workshop.write(image, to: breakdown.library)
        }

        /// Delivers the next as soon as one has ended.
        private func deliverOn() {
            healthy.deliver { [weak self] outcome in
                guard let self, !isOver.withLock(\.self) else { return }
                if outcome.kind == .delivered {
                    delivered.withLock { $0 += 1 }
                } else {
                    others.withLock { $0.append(outcome) }
                }
                // Not inside the call, because in the router that would grow the stack without a limit.
                DispatchQueue.global().async { self.deliverOn() }
            }
        }

        func transport(_ breakdown: Breakdown, at place: Place) throws -> TransportInstance {
            try host.makeTransport(
                platform: breakdown.function,
                app: "default",
                configuration: #"{"at":"\#(place)"}"#,
                settings: InstanceSettings(sender: RecordingHTTP(), log: log.logger)
            )
        }

        func filter(_ breakdown: Breakdown) throws -> FilterInstance {
            try host.makeFilter(
                breakdown.function,
                configuration: #"{"at":"decide"}"#,
                settings: InstanceSettings(sender: RecordingHTTP(), log: log.logger)
            )
        }

        func report(on breakdown: Breakdown) -> PluginProcessReport? {
            host.processReports.first { $0.plugins == [breakdown.library] }
        }

        /// Checks the report of the failure, and that the process runs again.
        func expectReport(on breakdown: Breakdown, crashes: ClosedRange<Int>, abandoned: Int) async {
            #expect(
                await eventually {
                    let report = self.report(on: breakdown)
                    return report?.lastCrash != nil && report?.state == .running
                },
                "\(breakdown)"
            )
            let report = report(on: breakdown)
            let death = report?.lastCrash ?? "none"
            #expect(breakdown.words.contains { death.contains($0) }, "\(breakdown): \(death)")
            #expect(death.hasPrefix("\(breakdown.library) "))
            #expect(report.map { crashes.contains($0.crashes) } == true, "\(breakdown)")
            #expect(report?.abandoned == abandoned, "\(breakdown)")
        }

        /// Checks that the healthy plugin has delivered everything so far, and still does.
        func expectHealth() async {
            let before = delivered.withLock(\.self)
            #expect(await eventually { self.delivered.withLock(\.self) > before + 10 })
            #expect(others.withLock(\.self) == [])
            #expect(host.processReports.first { $0.plugins == ["healthy.so"] }?.crashes ?? 0 == 0)
            isOver.withLock { $0 = true }
            await host.shutDown(within: .seconds(20))
        }
    }

    @Test func pluginsThatCrashAtTheirEntryAreRefused() async throws {
        let ward = try Ward(Breakdown.all, "-DAT_ENTRY")
        #expect(ward.host.catalog.plugins.map(\.id) == ["org.example.behaviour"])
        for breakdown in Breakdown.all {
            let refusal = ward.host.catalog.refusals.first { $0.path.hasSuffix("/\(breakdown.library)") }
            let text = refusal?.description ?? "none"
            #expect(breakdown.words.contains { text.contains($0) }, "\(breakdown): \(text)")
        }
        #expect(ward.host.catalog.refusals.count == Breakdown.all.count)
        await ward.expectHealth()
    }

    /// The router does not know the library by then, but the process does.
    @Test(arguments: ["-DAT_ENTRY", "-DAT_LOAD"]) func aCrashWhileItLoadsNamesThePlace(_ place: String) async throws {
        let crash = Breakdown(function: "crash", words: [])
        let ward = try Ward([crash], place)
        let refusal = try #require(ward.host.catalog.refusals.first)
        #expect(refusal.description.contains("crashed with SIGSEGV in crash.so+0x"), "\(refusal)")
        await ward.expectHealth()
    }

    @Test(arguments: Place.allCases) func pluginMisbehavingAnywhereIsContained(_ place: Place) async throws {
        let ward = try Ward()
        #expect(ward.host.catalog.refusals == [])
        await withTaskGroup { group in
            for breakdown in Breakdown.all {
                group.addTask { await Self.breakDown(breakdown, at: place, in: ward) }
            }
        }
        await ward.expectHealth()
    }

    private static func breakDown(_ breakdown: Breakdown, at place: Place, in ward: Ward) async {
        do {
            switch place {
            case .create:
                let error = #expect(throws: PluginError.self) { _ = try ward.transport(breakdown, at: place) }
                let text = error?.description ?? "nothing"
                #expect(
                    breakdown.words.contains { text.contains($0) } || text.contains("its process"),
                    "\(breakdown): \(text)"
                )
            case .validate:
                let instance = try ward.transport(breakdown, at: place)
                let error = #expect(throws: PluginError.self, "\(breakdown)") { try instance.validate(.somewhere) }
                // A crash would only repeat itself. Another plugin may have caused any other end of the process, so the
                // request is repeated once.
                let isCrash = ["crash", "throws"].contains(breakdown.function)
                if breakdown.function != "leak" { #expect(error?.isTemporary == !isCrash, "\(breakdown)") }
                return await ward.expectReport(on: breakdown, crashes: isCrash ? 1...1 : 1...2, abandoned: 0)
            // The process crashes with the delivery, and twice more with only that delivery.
            case .deliver, .done:
                let instance = try ward.transport(breakdown, at: place)
                #expect(await instance.outcome() == Outcome(.rejected, reason: "plugin-crashed"), "\(breakdown)")
                return await ward.expectReport(on: breakdown, crashes: 3...3, abandoned: 1)
            case .decide:
                let filter = try ward.filter(breakdown)
                #expect(filter.decide(.sample) == .failed(reason: "status 4"), "\(breakdown)")
            case .destroy:
                let instance = try ward.transport(breakdown, at: place)
                #expect(await instance.outcome().kind == .delivered, "\(breakdown)")
                #expect(await instance.drain(within: .seconds(10)), "\(breakdown)")
            }
            await ward.expectReport(on: breakdown, crashes: 1...1, abandoned: 0)
        } catch {
            Issue.record("\(breakdown): \(error)")
        }
    }
}

/// Plugins that break rules without a crash: their calls are rejected and counted, and neither the process nor the
/// router fails.
@Suite(.timeLimit(.minutes(1)))
struct RudePluginTests {
    enum Rudeness: String, Sendable, CaseIterable { case twice, huge, late }

    @Test(arguments: Rudeness.allCases) func pluginMisbehavingAnywhereIsContained(_ rudeness: Rudeness) async throws {
        let workshop = try Workshop()
        try workshop.compile("rude.c", to: "rude.so")
        let log = LogBook()
        let host = workshop.load(log: log)
        #expect(host.catalog.refusals == [])
        let settings = InstanceSettings(sender: RecordingHTTP(), log: log.logger)
        let make = { (configuration: String) in
            try host.makeTransport(platform: "rude", app: "default", configuration: configuration, settings: settings)
        }
        // An instance that is destroyed before the others use its host.
        let ghost = try make("{}")
        #expect(await ghost.drain(within: .seconds(10)))
        for place in BadPluginTests.Place.allCases where place != .decide {
            let instance = try make(#"{"do":"\#(rudeness)","at":"\#(place)"}"#)
            try instance.validate(.somewhere)
            let isMisbehaved = rudeness == .huge && [.deliver, .done].contains(place)
            let expected =
                isMisbehaved ? Outcome(.retry, reason: "misbehaved") : Outcome(.delivered, reason: "delivered")
            #expect(await instance.outcome() == expected, "\(place)")
            #expect(await instance.drain(within: .seconds(10)), "\(place)")
            expect(instance.statistics, of: rudeness, at: place)
        }
        let filter = try host.makeFilter(
            "rude",
            configuration: #"{"do":"\#(rudeness)","at":"decide"}"#,
            settings: settings
        )
        #expect(filter.decide(.sample) == .pass)
        #expect(await filter.drain(within: .seconds(10)))
        // The plugin logs it if the host accepts a forbidden call. A line from a destroyed instance does no harm.
        #expect(log.said.filter { !$0.isEmpty && $0 != "a line of what is gone" } == [])
        #expect(host.processReports.allSatisfy { $0.crashes == 0 })
        let good = try make("{}")
        #expect(await good.outcome().kind == .delivered)
        #expect(good.statistics == TransportStatistics())
        await host.shutDown(within: .seconds(20))
    }

    private func expect(_ statistics: TransportStatistics, of rudeness: Rudeness, at place: BadPluginTests.Place) {
        switch rudeness {
        // The first of the answers to an open delivery counts, and three are rejected.
        case .twice: #expect(statistics.unknownTickets == 3, "\(place)")
        case .huge:
            #expect(statistics.malformedRequests == 5, "\(place)")
            #expect(statistics.unknownTickets == 1, "\(place)")
        // A destroyed instance has no delivery, even if another instance has that ticket.
        case .late: #expect(statistics == TransportStatistics(), "\(place)")
        }
    }
}

extension FilterQuestion {
    fileprivate static var sample: FilterQuestion {
        FilterQuestion(event: Array("{}".utf8), recipient: "r", signal: .mention, now: 1_770_000_000_000)
    }
}
