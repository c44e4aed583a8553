import Core
import Delivery
import Nostr
import Push
import Registry
import Testing

@testable import Pipeline

/// Trace entries of events that wait for pacing.
@Suite struct PaceTraceTests {
    /// Events to one device wait for the end of its cooldown.
    private func held(_ count: Int, _ bench: Workbench, _ owner: KeyPair) throws -> [Event] {
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        let events = try (0..<count).map { try bench.note(to: owner, "held \($0)") }
        bench.submit(events)
        return events
    }

    /// The steps that are about all that wait under one delivery.
    private func steps(of event: Event, _ bench: Workbench) throws -> [TraceStep] {
        let delivery = try #require(bench.trace(of: event.id).last { $0.delivery != nil }?.delivery)
        return bench.observed.steps.filter { $0.event == nil && $0.delivery == delivery }
    }

    @Test func eventRefusedByTheDiskIsNotBatched() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        let two = try held(1, bench, owner)[0]
        bench.diskIsFull = true
        let three = try bench.note(to: owner)
        bench.submit([three])
        bench.pass(120)
        #expect(bench.trace(of: three.id).map(\.step) == [.notKept])
        #expect(bench.trace(of: two.id).map(\.step) == [.held])
        #expect(bench.count(.batched) == 0)
        bench.diskIsFull = false
        bench.pass(1)
        #expect(bench.trace(of: two.id).map(\.step) == [.held, .queued])
        #expect(bench.trace(of: three.id).map(\.step) == [.notKept])
        #expect(bench.kept.map(\.notification.count) == [1, 1])
    }

    @Test func failingDiskDoesNotFillTheTrace() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        let events = try held(2, bench, owner)
        let before = bench.observed.steps.count
        bench.diskIsFull = true
        bench.pass(3600)
        #expect(bench.observed.steps.count == before)
        #expect(bench.count(.released) == 0 && bench.count(.queued) == 1)
        bench.diskIsFull = false
        bench.pass(1)
        #expect(try steps(of: events[1], bench).map(\.step) == [.released])
        #expect(bench.count(.released) == 1 && bench.count(.queued) == 2)
    }

    @Test func eventSentUnderAnotherIDNamesIt() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        let mention = try held(1, bench, owner)[0]
        let messages = try (0..<2).map { _ in try bench.wrap(to: owner) }
        bench.submit(messages)
        bench.pass(61)
        let push = try #require(bench.kept.last)
        #expect(bench.kept.count == 2 && push.notification.count == 3)
        let released = try steps(of: mention, bench)
        #expect(released.map(\.step) == [.released] && released.map(\.reason) == ["batch of 3"])
        for message in messages {
            let last = try #require(try steps(of: message, bench).last)
            #expect(last.step == .joined && last.reason == push.id.description && last.device == push.device)
            #expect(last.account == owner.publicKey)
        }
    }

    @Test func eventThatJoinsAnotherGroupEarlyNamesIt() throws {
        let bench = try Workbench.paced(PacingPolicy(cooldown: .zero))
        let owner = try Workbench.keys()
        let quiet = #","quiet":{"start":"00:00","end":"06:00","tz":"UTC"}"#
        bench.submit([try bench.registration(of: owner, Workbench.content(further: quiet))], from: .feed)
        let events = try (0..<5).map { try bench.note(to: owner, "held \($0)") }
        bench.submit(events)
        #expect(try bench.rows().held == 2)
        bench.pass(31)
        bench.submit([try bench.note(to: owner)])
        #expect(try bench.rows().held == 1)
        let first = try #require(bench.trace(of: events[0].id).last?.delivery)
        for event in events.suffix(2) {
            let joined = try steps(of: event, bench)
            #expect(joined.map(\.step) == [.joined] && joined.map(\.reason) == [first.description])
        }
        bench.pass(6 * 3600)
        let push = try #require(bench.kept.last)
        #expect(push.id == first && push.notification.count == 6)
        #expect(try steps(of: events[2], bench).map(\.step) == [.released])
    }

    @Test func eventThatExpiresWhileHeldIsTracedAsExpired() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        _ = try held(0, bench, owner)
        let tags = [["p", owner.publicKey.hex], ["expiration", String(Workbench.time + 30)]]
        let brief = try bench.event(.textNote, "brief", tags: tags, by: try Workbench.keys())
        bench.submit([brief])
        bench.pass(61)
        #expect(try steps(of: brief, bench).map(\.step) == [.expired])
    }

    @Test(arguments: [false, true]) func heldEventsOfARemovedDeviceAreTraced(isDiskFull: Bool) throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        let events = try held(2, bench, owner)
        let device = try #require(bench.kept.first?.device)
        try bench.registry.removeGone(device, registeredAt: .distantFuture)
        if isDiskFull {
            bench.diskIsFull = true
            bench.pass(120)
            bench.pipeline?.process(Arrivals())
            #expect(bench.count(.left) == 0)
            bench.diskIsFull = false
        }
        bench.pipeline?.process(Arrivals())
        bench.pipeline?.process(Arrivals())
        for event in events { #expect(try steps(of: event, bench).map(\.step) == [.left]) }
        #expect(bench.count(.left) == 1)
    }

    @Test func deviceRemovedWhileTheRouterWasDownIsTraced() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        let event = try held(1, bench, owner)[0]
        try bench.registry.removeGone(try #require(bench.kept.first).device, registeredAt: .distantFuture)
        try bench.restart()
        bench.pipeline?.process(Arrivals())
        #expect(try steps(of: event, bench).map(\.step) == [.left])
    }
}
