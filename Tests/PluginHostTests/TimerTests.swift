import Core
import Foundation
import Glibc
import HTTPClient
import Push
import Testing

@testable import PluginHost

/// The service "carillon.timer/1".
@Suite(.timeLimit(.minutes(2)))
struct TimerTests {
    private let bench: ServiceBench

    init() throws { bench = try ServiceBench() }

    @Test func oneFiresOnceAndCannotBeCancelledInItsOwnCall() async throws {
        let instance = try bench.make("once")
        #expect(await bench.reason(instance) == "fired")
        #expect(bench.log.said == ["fired 1, cancel 2"])
        #expect(await instance.drain(within: .seconds(20)))
    }

    @Test func oneRepeatsUntilItIsCancelledInItsOwnCall() async throws {
        let instance = try bench.make("repeat")
        #expect(await bench.reason(instance) == "fired")
        #expect(bench.log.said == ["fired 5, cancel 2"])
        // A second firing would end a ticket twice.
        #expect(await instance.drain(within: .seconds(20)))
        #expect(instance.statistics.unknownTickets == 0)
    }

    @Test func pendingTimerIsCancelledImmediately() async throws {
        #expect(try await bench.reason("elsewhere") == "cancelled")
        #expect(bench.log.said == ["start 0, cancel 0, 1"])
    }

    @Test func callsOfOneTimerDoNotOverlap() async throws {
        #expect(try await bench.reason("slow") == "alone")
    }

    @Test func timersHaveLimits() async throws {
        #expect(try await bench.reason("timer-limits") == "limited")
    }

    @Test func timersStopWithTheirInstance() async throws {
        // Keeps the process alive, because its variables count.
        let witness = try bench.make("late")
        let instance = try bench.make("tick")
        #expect(await eventually { bench.log.said.contains("ticks") })
        #expect(await bench.host.retire(instance, within: .seconds(20)))
        #expect(await bench.reason(witness) == "counted")
        #expect(bench.log.said == ["ticks", "no more timers", "destroyed", "late 0"])
    }

    @Test func aRefusedInstanceHasNoTimers() async throws {
        let witness = try bench.make("fired")
        #expect(throws: PluginError.self) { try bench.make("refuse") }
        #expect(await bench.reason(witness) == "counted")
    }
}

/// Timers that crash the process.
@Suite(.timeLimit(.minutes(2)))
struct TimerProcessTests {
    private func bench(_ change: (inout IsolationSettings) -> Void = { _ in }) throws -> (PluginHost, ServiceBench) {
        var settings = IsolationSettings.forTests
        change(&settings)
        let bench = try ServiceBench(isolation: settings)
        return (bench.host, bench)
    }

    @Test func aCrashInATimerIsNamed() async throws {
        let (host, bench) = try bench()
        // The delivery is still open, and is retried once separately.
        #expect(try await bench.reason("crash") == "plugin-crashed")
        let death = try #require(host.processReports.first?.lastCrash)
        #expect(death.contains("SIGSEGV") && death.contains("called for a timer"), "\(death)")
    }

    /// No delivery is in progress when the timer hangs.
    @Test func hangingTimerIsDetectedWithoutDeliveries() async throws {
        let (host, bench) = try bench { $0.deadline = .milliseconds(1500) }
        #expect(try await bench.reason("hang") == "hangs")
        #expect(await eventually { host.processReports.first?.lastCrash?.contains("a timer") == true })
    }
}
