import Core
import Glibc
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

/// Inbound requests: one response each, whatever a plugin does.
@Suite(.timeLimit(.minutes(1)))
struct InboundTests {
    private let bench: Bench

    init() throws {
        bench = try Bench("many.c")
    }

    private func ask(_ path: String, query: String = "") async -> (status: UInt32, body: String) {
        let answer = await bench.instance.receive(InboundRequest(method: "GET", path: path, query: query))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    @Test func inboundRequestAndResponseArriveUnchanged() async {
        let request = InboundRequest(
            method: "POST",
            path: "/hook/ä",
            query: "a=1&b=",
            headers: [("x-signature", "v1,abc"), ("x-empty", "")],
            body: Array("hello".utf8)
        )
        let answer = await bench.instance.receive(request)
        #expect(answer.status == 200)
        #expect(answer.headers.map(\.name) == ["x-one"] && answer.headers.map(\.value) == ["1"])
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text == "1 POST /hook/ä?a=1&b=|x-signature=v1,abc|x-empty=|5 bytes")
        let bare = await bench.instance.receive(InboundRequest(method: "GET", path: ""))
        #expect(String(decoding: bare.body, as: UTF8.self) == "1 GET ?|0 bytes")
        #expect(bench.instance.requests.inbound == [2: 2])
        #expect(bench.instance.statistics == TransportStatistics())
    }

    @Test(arguments: [("01", 400), ("02", 503), ("03", 404), ("04", 500), ("77", 500)] as [(String, UInt32)])
    func aRefusalHasItsStatus(_ number: String, _ status: UInt32) async {
        #expect(await ask("/refuse/\(number)") == (status, ""))
        #expect(bench.instance.statistics == TransportStatistics())
    }

    @Test(arguments: 0...15)
    func invalidResponseIsNotPassedOn(_ kind: Int) async {
        #expect(await ask("/bad/\(kind < 10 ? "0" : "")\(kind)") == (502, ""))
        #expect(bench.instance.statistics.malformedAnswers == 1)
        #expect(await ask("").status == 200)
    }

    @Test func onlyTheFirstResponseCounts() async {
        #expect(await ask("/twice") == (200, "first"))
        #expect(await ask("/thread") == (200, "later"))
        // The process forwards neither the second answer nor the rejection after it.
        #expect(bench.instance.statistics.unknownTickets == 0)
    }

    @Test func unansweredRequestTimesOut() async throws {
        let instance = bench.instance
        let waiting = Task { await ask("/never") }
        while instance.statistics.deadlinesMissed == 0 {
            bench.clock.advance(by: .seconds(1))
            instance.expireDeadlines()
            await Task.yield()
        }
        #expect(await waiting.value == (504, ""))
        #expect(await ask("/release").status == 204)
        #expect(await eventually { instance.statistics.lateCompletions == 1 })
        #expect(await bench.host.retire(instance, within: .minutes(1)))
    }

    @Test func activeInboundRequestsAreLimited() async {
        let instance = bench.instance
        let waiting = (0..<8).map { _ in Task { await ask("/never") } }
        while instance.openInbound < 8 { await Task.yield() }
        #expect(await ask("") == (503, ""))
        bench.clock.advance(by: .seconds(10))
        instance.expireDeadlines()
        for task in waiting { #expect(await task.value == (504, "")) }
        #expect(await ask("").status == 200)
    }

    @Test func drainWaitsForResponsesAndRefusesNewRequests() async throws {
        let instance = bench.instance
        let waiting = Task { await ask("/never") }
        while instance.openInbound == 0 { await Task.yield() }
        // The request may still be on its way to the process.
        _ = await ask("")
        let retiring = Task { await bench.host.retire(instance, within: .minutes(1)) }
        while await ask("").status != 503 { await Task.yield() }
        #expect(instance.openInbound == 1)
        bench.clock.advance(by: .seconds(10))
        #expect(await waiting.value == (504, ""))
        #expect(await retiring.value)
    }

    @Test func thePluginLearnsItsURL() async {
        #expect(await ask("/url") == (200, "https://push.example.com/plugins/fixture/default"))
    }

    @Test func instanceWithoutAPublicAddressAnswers404() async throws {
        let settings = InstanceSettings(sender: RecordingHTTP(), log: bench.log.logger)
        let instance = try bench.host.makeTransport(
            platform: "fixture",
            app: "other",
            configuration: "{}",
            settings: settings
        )
        #expect(await instance.receive(InboundRequest(method: "GET", path: "/url")).status == 404)
    }

    @Test func transportWithoutInboundRequestsIs404() async throws {
        let instance = try Bench(doing: "inline").instance
        #expect(!instance.isReachable)
        #expect(await instance.receive(InboundRequest(method: "GET", path: "")).status == 404)
    }

    @Test(arguments: ["/crash", "/hang"])
    func requestThatKillsTheProcessIsAnswered(_ path: String) async throws {
        let process = try #require(bench.host.processReports.first?.process)
        let waiting = Task { await ask(path) }
        if path == "/hang" {
            while bench.instance.openInbound == 0 { await Task.yield() }
            kill(process, SIGKILL)
        }
        #expect(await waiting.value.status == 502)
        #expect(await eventually { bench.host.processReports.first?.process.map { $0 != process } == true })
        #expect(await ask("").status == 200)
        #expect(await bench.outcome().reason == "alone")
        #expect(bench.host.processReports.first?.abandoned == 0)
    }
}
