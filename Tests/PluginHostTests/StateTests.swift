import Core
import Glibc
import HTTPClient
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

/// The service "carillon.state/1".
@Suite(.timeLimit(.minutes(2)))
struct StateTests {
    private let bench: ServiceBench

    init() throws { bench = try ServiceBench() }

    private var kept: [String: String]? { bench.store.values["transport/fixture/default"] }

    @Test func storedValueIsReadImmediately() async throws {
        let instance = try bench.make("state")
        #expect(await bench.value(of: "a", in: instance) == "none")
        #expect(await bench.set("a", "one", in: instance) == "kept")
        #expect(await bench.value(of: "a", in: instance) == "3 one")
        #expect(kept == ["a": "one"])
        #expect(await bench.set("a", "", in: instance) == "kept")
        #expect(await bench.value(of: "a", in: instance) == "none")
        #expect(kept == [:])
    }

    @Test func stateSurvivesARestartOfTheRouter() async throws {
        #expect(await bench.set("a", "one", in: try bench.make("state")) == "kept")
        let next = try ServiceBench(bench.store)
        let instance = try next.make("state")
        #expect(await next.value(of: "a", in: instance) == "3 one")
        // State of another app is not visible.
        #expect(await next.value(of: "a", in: try next.make("state", app: "other")) == "none")
    }

    @Test func createAndDestroyMayUseState() async throws {
        for made in ["0 none", "1 1", "1 2"] {
            let instance = try bench.make("count")
            #expect(await instance.drain(within: .seconds(20)))
            #expect(bench.log.said.suffix(2) == [made, "destroyed"])
        }
        #expect(kept == ["made": "3", "destroyed": "yes"])
        #expect(bench.store.released == Array(repeating: "transport/fixture/default", count: 3))
    }

    @Test func instancesOfOneAppShareState() async throws {
        let (former, next) = (try bench.make("state"), try bench.make("state"))
        #expect(await bench.set("a", "one", in: former) == "kept")
        #expect(await bench.set("b", "two", in: next) == "kept")
        for instance in [former, next] {
            #expect(await bench.value(of: "a", in: instance) == "3 one")
            #expect(await bench.value(of: "b", in: instance) == "3 two")
        }
        #expect(await former.drain(within: .seconds(20)))
        #expect(bench.store.released == [])
        #expect(await bench.value(of: "a", in: next) == "3 one")
    }

    /// Both set the same key many times; in the end both have the stored value.
    @Test func instancesAgree() async throws {
        let instances = [try bench.make("state"), try bench.make("state")]
        await withTaskGroup { group in
            for (number, instance) in instances.enumerated() {
                group.addTask {
                    for round in 0..<200 {
                        let value = "\(number) \(round)"
                        _ = await instance.outcome(of: Notification(mode: .alert, signal: .dm, title: "k", body: value))
                    }
                }
            }
        }
        let last = try #require(kept?["k"])
        for instance in instances { #expect(await bench.value(of: "k", in: instance) == "\(last.count) \(last)") }
    }

    /// The former instance sets a value while the new one is created.
    @Test func newInstanceMissesNoChange() async throws {
        let former = try bench.make("state")
        for round in 0..<20 {
            async let isKept = bench.set("k", "round \(round)", in: former)
            let next = try bench.make("state")
            #expect(await isKept == "kept")
            let expected = "round \(round)"
            #expect(await bench.value(of: "k", in: next) == "\(expected.count) \(expected)")
            #expect(await next.drain(within: .seconds(20)))
        }
    }

    @Test func stateIsLimited() async throws {
        #expect(try await bench.reason("state-limits") == "limited")
        #expect(kept?.count == 256)
    }

    @Test func filtersHaveTheirOwnState() throws {
        let question = FilterQuestion(
            event: Array("{}".utf8),
            recipient: "r",
            recipientEvents: [],
            signal: .mention,
            now: 1_770_000_000_000,
            notification: nil
        )
        for round in ["1", "2"] {
            let filter = try bench.host.makeFilter("fixture", configuration: "{}", settings: bench.settings)
            #expect(filter.decide(question) == .drop(reason: round))
            #expect(bench.store.values["filter/fixture"] == ["asked": round])
        }
    }

    @Test func stateWithoutAStoreLastsAsLongAsTheInstance() async throws {
        let settings = InstanceSettings(sender: RecordingHTTP(), log: bench.log.logger)
        for made in ["0 none", "0 none"] {
            let instance = try bench.host.makeTransport(
                platform: "fixture",
                app: "default",
                configuration: #"{"do":"count"}"#,
                settings: settings
            )
            #expect(await instance.drain(within: .seconds(20)))
            #expect(bench.log.said.suffix(2) == [made, "destroyed"])
        }
    }
}

/// State that survives a crash of a process.
@Suite(.timeLimit(.minutes(2)))
struct StateProcessTests {
    @Test func nextProcessReadsTheState() async throws {
        let bench = try ServiceBench()
        let (one, other) = (try bench.make("state"), try bench.make("state"))
        for round in 1...5 {
            #expect(await bench.set("a", "\(round)", in: one) == "kept")
            #expect(await bench.set("b", "\(round)", in: other) == "kept")
            let process = try #require(bench.host.processReports.first?.process)
            kill(process, SIGKILL)
            #expect(await eventually { (bench.host.processReports.first?.process).map { $0 != process } ?? false })
            for instance in [one, other] {
                #expect(await bench.value(of: "a", in: instance) == "1 \(round)")
                #expect(await bench.value(of: "b", in: instance) == "1 \(round)")
            }
        }
        #expect(bench.store.values["transport/fixture/default"] == ["a": "5", "b": "5"])
    }
}
