import Core
import HTTPClient
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

/// Filters of a plugin in C, compiled from the header.
@Suite(.timeLimit(.minutes(1)))
struct FilterTests {
    /// A filter and everything around it.
    private struct FilterBench {
        let workshop: Workshop
        let log = LogBook()
        let clock = ManualClock()
        let host: PluginHost
        let filter: FilterInstance

        init(doing behaviour: String, _ flags: String...) throws {
            workshop = try Workshop()
            try workshop.compile("filter.c", to: "plugin.so", flags)
            host = workshop.load(log: log)
            if let refusal = host.catalog.refusals.first { throw refusal }
            filter = try host.makeFilter(
                "fixture",
                configuration: #"{"do":"\#(behaviour)"}"#,
                settings: InstanceSettings(sender: RecordingHTTP(), log: log.logger, now: clock.monotonic)
            )
        }
    }

    private static let rendered = "-DFLAGS=CARILLON_FILTER_RENDERED"
    private static let alert = Notification(mode: .alert, signal: .mention, title: "title", native: ["ios": "{}"])

    private func question(_ notification: Notification? = nil) -> FilterQuestion {
        FilterQuestion(
            event: Array(#"{"content":"hello"}"#.utf8),
            recipient: "r",
            recipientEvents: [Array("one".utf8), Array("two".utf8)],
            signal: .mention,
            relation: "reply",
            author: "a",
            zapMillisats: 21_000,
            followDistance: .second,
            now: 1_770_000_000_000,
            notification: notification
        )
    }

    @Test func filterGetsItsInquiry() throws {
        let bench = try FilterBench(doing: "tell")
        #expect(bench.filter.decide(question(Self.alert)) == .pass)
        #expect(
            bench.log.said == [
                "mention reply a r lists=2 zap=21000 now=1770000000000 distance=2 title=", "one", "two",
                #"{"content":"hello"}"#,
            ]
        )
    }

    @Test func filterSeesOnlyTheModesTextsAfterRendering() throws {
        let bench = try FilterBench(doing: "tell", Self.rendered)
        #expect(bench.filter.isAskedAfterRendering)
        var nudge = Self.alert
        nudge.mode = .nudge
        nudge.neutral = NeutralTexts(title: "neutral", body: "")
        for notification in [Self.alert, nudge] { #expect(bench.filter.decide(question(notification)) == .pass) }
        #expect(
            bench.log.said.filter { $0.contains("title=") }.map { $0.split(separator: "title=")[1] } == [
                "title", "neutral",
            ]
        )
    }

    @Test(arguments: [
        ("drop", FilterDecision.drop(reason: "because")), ("drop-mutely", .drop(reason: "")), ("pass", .pass),
        ("fail", .failed(reason: "status 4")), ("third", .failed(reason: "an unknown verdict")),
        ("babble", .drop(reason: "")),
    ])
    func filterVerdictsAreApplied(behaviour: String, decision: FilterDecision) throws {
        let bench = try FilterBench(doing: behaviour)
        #expect(bench.filter.decide(question()) == decision)
        let isFailed = if case .failed = decision { true } else { false }
        #expect(bench.filter.statistics.failedDecisions == (isFailed ? 1 : 0))
        #expect(bench.filter.statistics.malformedEdits == (behaviour == "babble" ? 4 : 0))
        if behaviour == "babble" { #expect(bench.log.said == Array(repeating: "reason 1", count: 4)) }
    }

    /// Many at the same time, and sequential for the filter.
    @Test func batchedInquiriesHaveSeparateVerdicts() throws {
        let bench = try FilterBench(doing: "name")
        let questions = (0..<150).map { number in
            var question = question()
            question.recipient = "r\(number)"
            return question
        }
        #expect(bench.filter.decide(questions) == questions.map { .drop(reason: $0.recipient) })
        #expect(bench.filter.decide([FilterQuestion]()) == [])
    }

    @Test func notificationsThatGoTogetherAreEditedEach() throws {
        let bench = try FilterBench(doing: "edit", Self.rendered)
        var nudge = Self.alert
        nudge.mode = .nudge
        nudge.neutral = NeutralTexts(title: "neutral", body: "")
        let decisions = bench.filter.decide([question(Self.alert), question(nudge), question()])
        guard case .edited(let first) = decisions[0], case .edited(let second) = decisions[1] else {
            Issue.record("\(decisions)")
            return
        }
        #expect(first.title == "T" && first.urgency == .low)
        #expect(second.title == nudge.title && second.urgency == .low)
        #expect(decisions[2] == .pass)
    }

    @Test func failedFilterFailsEveryInquiry() async throws {
        let bench = try FilterBench(doing: "fail")
        #expect(
            bench.filter.decide([question(), question()]) == Array(repeating: .failed(reason: "status 4"), count: 2)
        )
        #expect(bench.filter.statistics.failedDecisions == 2)
        await bench.host.shutDown(within: .minutes(1))
        #expect(
            bench.filter.decide([question(), question()]) == Array(repeating: .failed(reason: "shut down"), count: 2)
        )
    }

    private static let texts = ["title", "subtitle", "body", "category", "thread", "collapse_key", "url"]

    @Test func renderedTextsMayBeEdited() throws {
        let bench = try FilterBench(doing: "edit", Self.rendered)
        var expected = Self.alert
        (expected.title, expected.subtitle, expected.body) = ("T", "S", "B")
        (expected.category, expected.thread, expected.collapseKey) = ("C", "H", "K")
        (expected.url, expected.data, expected.urgency) = ("https://x.example", #"{"a":1}"#, .low)
        #expect(bench.filter.decide(question(Self.alert)) == .edited(expected))
        #expect(
            bench.log.said
                == Self.texts.map { "\($0) 0" } + [
                    "data 0", "data 1", "urgency 0", "urgency 1", "native 3", "id 3", "title 1",
                ]
        )
        #expect(bench.filter.statistics.malformedEdits == 3)
    }

    /// A filter cannot edit texts in modes that hide them.
    @Test(arguments: [Mode.wake, .nudge])
    func hiddenTextsCannotBeEdited(mode: Mode) throws {
        let bench = try FilterBench(doing: "edit", Self.rendered)
        let notification = Notification(mode: mode, signal: .mention, neutral: NeutralTexts(title: "n", body: ""))
        var expected = notification
        expected.urgency = .low
        #expect(bench.filter.decide(question(notification)) == .edited(expected))
        #expect(bench.log.said.filter { $0.hasSuffix(" 0") } == ["urgency 0"])
    }

    @Test func editsBeforeRenderingAreRefused() throws {
        let bench = try FilterBench(doing: "edit")
        #expect(bench.filter.decide(question(Self.alert)) == .pass)
        #expect(bench.log.said.allSatisfy { $0.hasSuffix(" 3") })
    }

    @Test func editsOfAFailedCallAreDiscarded() throws {
        let bench = try FilterBench(doing: "edit-and-fail", Self.rendered)
        #expect(bench.filter.decide(question(Self.alert)) == .failed(reason: "status 4"))
    }

    @Test func editAfterItsCallIsRefused() throws {
        let bench = try FilterBench(doing: "late")
        #expect(bench.filter.decide(question()) == .pass)
        #expect(bench.filter.decide(question()) == .pass)
        #expect(bench.log.said == ["late 1"])
        #expect(bench.filter.statistics.malformedEdits == 1)
    }

    @Test func filterDeclaresItsNeeds() throws {
        let bench = try FilterBench(doing: "pass")
        #expect(bench.filter.wantedKinds == [3, 10_000] && bench.filter.need == .distance)
        #expect(try FilterBench(doing: "need-less").filter.need == .followed)
        let listed = try #require(bench.host.catalog.plugins.first?.filters.first)
        #expect(listed.name == "fixture" && listed.wantedKinds == [3, 10_000] && listed.maxNeeded == .distance)
    }

    @Test func olderPluginsNeedsComeFromItsFlags() throws {
        let bench = try FilterBench(doing: "need-less", "-DOLDER")
        #expect(bench.filter.need == .distance, "what lies behind its struct is not read")
        #expect(bench.filter.decide(question()) == .pass)
    }

    @Test(arguments: [
        ("-DSTRANGE_KIND", "kind 30000, which is not replaceable"), ("-DMANY_KINDS", "more than 16 kinds"),
    ])
    func unknownNeedsAreRefused(flag: String, mistake: String) throws {
        let refusal = #expect(throws: PluginLoadError.self) { _ = try FilterBench(doing: "pass", flag) }
        #expect(refusal.map { "\($0.reason)" }?.contains(mistake) == true)
    }

    @Test func settingsAndNamesAreCheckedWithClearWords() throws {
        let bench = try FilterBench(doing: "pass")
        let settings = InstanceSettings(sender: RecordingHTTP(), log: bench.log.logger)
        let refused = #expect(throws: PluginError.self) {
            _ = try bench.host.makeFilter("fixture", configuration: "{}", settings: settings)
        }
        #expect(refused?.description == "the filter fixture refuses its settings: do: expected a behaviour")
        let unknown = #expect(throws: PluginError.self) {
            _ = try bench.host.makeFilter("mutes", configuration: "{}", settings: settings)
        }
        #expect(unknown?.description == "no loaded plugin offers the filter mutes; available: fixture")
    }

    @Test func filterIsNotCalledAfterShutdownAndDestroyedOnce() async throws {
        let bench = try FilterBench(doing: "drop")
        await bench.host.shutDown(within: .minutes(1))
        #expect(bench.log.said == ["destroyed"])
        #expect(bench.filter.decide(question()) == .failed(reason: "shut down"))
        #expect(await bench.filter.drain(deadline: .distantFuture))
        #expect(bench.log.said == ["destroyed"])
    }
}
