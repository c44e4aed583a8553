import Cipher
import Core
import Delivery
import Nostr
import Push
import Registry
import Testing
import TimeTestSupport

@testable import Pipeline

/// Events for devices whose push service has used up its share of the outbox.
@Suite struct CrowdedQueueTests {
    private static let ios = QueueName(platform: "ios", app: "default")

    private let room = FakeCapacity()

    /// Default: no pacing, unless the policy sets it.
    private func bench(
        _ policy: PacingPolicy = PacingPolicy(cooldown: .zero, window: .zero, dailyCap: 0, maxDailyCap: 0)
    ) throws -> Workbench {
        try Workbench.paced(policy, capacity: room)
    }

    @Test func eventsForACrowdedQueueAreBatched() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "wake")
        room.set(0, of: Self.ios)
        let notes = try (0..<3).map { try bench.note(to: owner, "\($0)") }
        for note in notes { #expect(bench.submit([note]).map(\.result) == [.accepted]) }
        #expect(bench.kept.isEmpty)
        #expect(try bench.rows().held == 1)
        #expect(bench.trace(of: notes[0].id).contains { $0.step == .held && $0.reason == "behind" })
        bench.pass(300)
        #expect(bench.kept.isEmpty)
        room.set(nil, of: Self.ios)
        bench.pass(61)
        #expect(bench.kept.map(\.notification.count) == [3])
        #expect(try bench.rows().held == 0)
    }

    @Test func anotherQueueIsUnaffected() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "wake", further: #","app":"other""#)
        room.set(0, of: Self.ios)
        bench.submit([try bench.note(to: owner)])
        #expect(bench.kept.map(\.app) == ["other"])
        #expect(try bench.rows().held == 0)
    }

    @Test func nextEventIsBatchedWithHeldOnes() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "wake")
        room.set(0, of: Self.ios)
        bench.submit([try bench.note(to: owner)])
        room.set(1, of: Self.ios)
        bench.submit([try bench.note(to: owner)])
        #expect(bench.kept.map(\.notification.count) == [2])
    }

    @Test func singleHeldEventIsSentAsItself() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "alert")
        room.set(0, of: Self.ios)
        bench.submit([try bench.note(to: owner, "the text")])
        room.set(nil, of: Self.ios)
        bench.pass(2)
        #expect(bench.kept.map { $0.notification.body.contains("the text") } == [true])
    }

    @Test func heldEventsSurviveARestart() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "wake")
        room.set(0, of: Self.ios)
        bench.submit([try bench.note(to: owner), try bench.note(to: owner)])
        try bench.restart()
        bench.pass(10)
        #expect(bench.kept.isEmpty)
        room.set(nil, of: Self.ios)
        bench.pass(61)
        #expect(bench.kept.map(\.notification.count) == [2])
    }

    @Test func waitForCapacityBacksOff() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "wake")
        room.set(0, of: Self.ios)
        bench.submit([try bench.note(to: owner)])
        bench.pass(60)
        #expect(5...20 ~= room.asked)
        bench.pass(6000)
        #expect(100...130 ~= room.asked)
    }

    @Test func freeCapacityIsUsedByWaitingDevices() throws {
        let bench = try bench()
        let owners = try (0..<5).map { _ in try bench.account(mode: "wake") }
        room.set(0, of: Self.ios)
        bench.submit(try owners.map { try bench.note(to: $0) })
        room.set(2, of: Self.ios)
        bench.pass(10)
        #expect(bench.kept.count == 2)
        room.set(nil, of: Self.ios)
        bench.pass(61)
        #expect(bench.kept.count == 5 && Set(bench.kept.map(\.device)).count == 5)
    }

    @Test func aPacedDeviceKeepsItsPace() throws {
        let bench = try bench(PacingPolicy())
        let owner = try bench.account(mode: "wake")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner)])
        room.set(0, of: Self.ios)
        bench.pass(100)
        #expect(bench.kept.count == 1)
        room.set(nil, of: Self.ios)
        bench.pass(61)
        #expect(bench.kept.count == 2)
        // The push that is sent now starts a cooldown, as any other does.
        try bench.end()
        bench.submit([try bench.note(to: owner)])
        #expect(bench.kept.count == 2)
        bench.pass(61)
        #expect(bench.kept.count == 3)
    }

    @Test func refusedBatchHoldsNoEventsAndLosesNone() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "wake")
        room.set(0, of: Self.ios)
        let note = try bench.note(to: owner)
        bench.diskIsFull = true
        #expect(bench.submit([note]).map(\.result) == [.notKept])
        bench.diskIsFull = false
        bench.submit([note])
        #expect(try bench.rows().held == 1)
        room.set(nil, of: Self.ios)
        bench.pass(61)
        #expect(bench.kept.map(\.notification.count) == [1])
    }

    @Test func clockThatIsSetBackDoesNotExtendTheWait() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "wake")
        room.set(0, of: Self.ios)
        bench.submit([try bench.note(to: owner)])
        bench.pass(600)
        bench.clock.advance(by: .seconds(-500))
        bench.pipeline?.process(Arrivals())
        room.set(nil, of: Self.ios)
        bench.pass(61)
        #expect(bench.kept.count == 1)
    }

    @Test func holdReasonIsReported() throws {
        let bench = try bench()
        let owner = try bench.account(mode: "wake")
        room.set(0, of: Self.ios)
        bench.submit([try bench.note(to: owner)])
        let device = try #require(bench.observed.steps.compactMap(\.device).first)
        let stored = try OutboxReader(path: bench.outboxPath).paces(of: [device])
        for isCrowded in [true, false] {
            let forecast = PaceForecast(
                stored[device]?.row,
                stored[device]?.held ?? [],
                pace: Pace(),
                at: bench.clock.now(),
                isCrowded: { isCrowded }
            )
            #expect(forecast.next.reason == (isCrowded ? .behind : nil))
            #expect(forecast.next.at == nil && forecast.held == 1)
        }
    }
}
