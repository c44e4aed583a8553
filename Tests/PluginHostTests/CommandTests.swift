import Core
import Testing
import TimeTestSupport

@testable import PluginHost

/// Operators' commands: each ends exactly once, whatever a plugin does.
@Suite(.timeLimit(.minutes(1)))
struct CommandTests {
    private let bench: Bench

    init() throws {
        bench = try Bench(doing: "inline")
    }

    private func mistake(_ words: String...) async -> String {
        do throws(PluginError) {
            return "no mistake: " + (try await bench.instance.command(words))
        } catch {
            return error.description
        }
    }

    @Test(arguments: [
        (["echo"], ""), (["echo", "a", "b c"], "[a][b c]"), (["echo", "", "ä\n"], "[][ä\n]"),
        (["lines"], "one\n\ttwo\u{FFFD}[31m\u{FFFD}"), (["thread"], "from a thread"), (["twice"], "first"),
        (["refuse-and-answer"], "answered"), (["stray"], ""),
    ])
    func onlyTheFirstResponseCounts(_ words: [String], _ answer: String) async throws {
        #expect(try await bench.instance.command(words) == answer)
    }

    @Test func failedCommandNamesItsReason() async {
        #expect(await mistake("fail") == "no such channel")
        #expect(await mistake("nonsense").hasSuffix("unknown command (\"help\" lists all commands)"))
        #expect(await mistake().hasSuffix("invalid arguments (\"help\" lists all commands)"))
        #expect(await mistake("busy").hasSuffix("the plugin is busy, try again later"))
    }

    @Test func unansweredCommandTimesOut() async throws {
        let instance = bench.instance
        let waiting = Task { () -> String in
            do throws(PluginError) {
                return try await instance.command(["never"], within: .seconds(1))
            } catch {
                return error.description
            }
        }
        while instance.statistics.deadlinesMissed == 0 {
            bench.clock.advance(by: .seconds(1))
            instance.expireDeadlines()
            await Task.yield()
        }
        #expect(await waiting.value == "the fixture transport did not run the command: no response arrived in time")
        #expect(try await instance.command(["late"]) == "now")
        #expect(instance.statistics.lateCompletions == 1)
        #expect(instance.statistics.unknownTickets == 0)
        #expect(await bench.host.retire(instance, within: .minutes(1)))
    }

    @Test func activeCommandKeepsTheInstanceUntilItsDeadline() async throws {
        let instance = bench.instance
        let waiting = Task { () -> String in
            do throws(PluginError) {
                return try await instance.command(["never"], within: .seconds(1))
            } catch {
                return error.description
            }
        }
        // Until then the command may be anywhere between router and plugin.
        while bench.instance.openCommands == 0 { await Task.yield() }
        let draining = Task { await instance.drain(within: .minutes(1)) }
        while await !mistake("echo").hasSuffix("the transport is being shut down") { await Task.yield() }
        bench.clock.advance(by: .seconds(1))
        instance.expireDeadlines()
        #expect(await waiting.value.hasSuffix("no response arrived in time"))
        #expect(await draining.value)
    }

    @Test func olderPluginHasNoCommands() async throws {
        let older = try Bench("behaviour.c", "-DOLDER", configuration: #"{"do":"inline"}"#)
        #expect(
            try await older.instance.command(["help"]) == "the plugin of \(older.instance.platform) has no commands"
        )
        await #expect(throws: PluginError.self) { try await older.instance.command(["list"]) }
        do throws(PluginError) {
            _ = try await older.instance.command(["list"])
        } catch {
            #expect(error.description.hasSuffix("did not run the command: it has no commands"))
        }
    }
}
