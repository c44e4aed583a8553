import Core
import CostTestSupport
import Delivery
import Foundation
import GRDB
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Pipeline

/// A restart between any two steps changes nothing.
@Suite struct PaceRestartTests {
    enum Step: Sendable, Equatable {
        case match
        case message
        case delivered
        case failed
        case pass(Double)
        case refusal
    }

    struct Outcome: Equatable {
        var counts: [UInt32] = []
        var moments: [Duration] = []
        var modes: [Mode] = []
    }

    /// Quiet from 01:00 to 02:00 UTC; the bench starts at midnight.
    private static let preferences =
        #","quiet":{"start":"01:00","end":"02:00","tz":"Z","dm_bypass_quiet":true},"batch":{"cooldown_seconds":20,"daily_cap":6}"#

    static let story: [Step] = [
        .match, .match, .pass(1), .delivered, .match, .message, .pass(5), .match, .pass(20), .delivered, .pass(10),
        .match, .failed, .match, .refusal, .match, .pass(40), .delivered, .pass(3570), .match, .match, .message,
        .match, .delivered, .pass(100), .message, .pass(1), .delivered, .pass(4000), .delivered, .match, .match,
        .pass(30), .delivered, .match, .pass(90_000), .delivered, .match, .pass(100),
    ]

    /// Returns the outcome of the story with a restart after each of those steps.
    private func play(restartingAfter places: Set<Int>, isTold: Bool = true) throws -> Outcome {
        let bench = try Workbench.paced()
        let owner = try bench.account(["dm", "mention"], mode: "alert", further: Self.preferences)
        for (place, step) in Self.story.enumerated() {
            switch step {
            case .match: bench.submit([try bench.note(to: owner)])
            case .message: bench.submit([try bench.wrap(to: owner, "\(place)")])
            case .delivered, .failed:
                let hears = isTold || !places.contains(place)
                if !bench.stored.isEmpty { try bench.end(isDelivered: step == .delivered, isTold: hears) }
            case .pass(let seconds): bench.pass(seconds)
            case .refusal:
                bench.diskIsFull = true
                bench.submit([try bench.note(to: owner)])
                bench.diskIsFull = false
            }
            if places.contains(place) {
                try bench.restart()
                bench.pipeline?.process(Arrivals())
            }
        }
        return Outcome(
            counts: bench.kept.map(\.notification.count),
            moments: bench.kept.map { $0.acceptedAt - Workbench.start },
            modes: bench.kept.map(\.notification.mode)
        )
    }

    /// The outcome of the story without a restart.
    private static let undisturbed = Result { try PaceRestartTests().play(restartingAfter: []) }

    @Test func scenarioCoversBatchesAndLongGaps() throws {
        let outcome = try Self.undisturbed.get()
        #expect(outcome.counts.count >= 8)
        #expect(outcome.counts.contains { $0 > 2 })
        #expect(outcome.moments.contains { $0 > .days(1) })
    }

    /// Each step is tried in the long form; `manyRestartsChangeNoPushes` covers all of them together.
    @Test(arguments: Array(stride(from: 0, to: story.count, by: TestLength.rounds(4, long: 1))))
    func restartChangesNoPushes(after place: Int) throws {
        #expect(try play(restartingAfter: [place]) == Self.undisturbed.get())
    }

    @Test func manyRestartsChangeNoPushes() throws {
        #expect(try play(restartingAfter: Set(Self.story.indices)) == Self.undisturbed.get())
    }

    @Test func unreportedOutcomeDoesNotEither() throws {
        #expect(try play(restartingAfter: Set(Self.story.indices), isTold: false) == Self.undisturbed.get())
    }

    @Test func deliveryThatLeftTheOutboxWithoutATraceCountsAsDelivered() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        bench.submit([try bench.note(to: owner)])
        bench.submit([try bench.note(to: owner)])
        bench.pass(10)
        var changes = OutboxChanges()
        changes.removals = bench.stored.map(\.key)
        try bench.outbox?.apply(changes)
        try bench.restart()
        bench.pipeline?.process(Arrivals())
        #expect(bench.kept.count == 1)
        bench.pass(51)
        #expect(bench.kept.count == 2)
        #expect(bench.kept.last?.acceptedAt == Workbench.start + .minutes(1))
    }

    @Test func meaninglessRowsAreDroppedAtTheStart() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.clock.advance(by: PushHistory.day)
        try bench.restart()
        #expect(try bench.rows().paces == 1)
        bench.clock.advance(by: PushHistory.day)
        try bench.restart()
        #expect(try bench.rows().paces == 0)
    }

    @Test func unreadableNotificationIsSentAsACount() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner)])
        let database = try DatabaseQueue(path: bench.outboxPath)
        try database.write { try $0.execute(sql: "UPDATE outbox_held_member SET notification = x'ff00'") }
        try bench.restart()
        bench.pass(61)
        let notification = try #require(bench.kept.last?.notification)
        #expect(bench.kept.count == 2 && notification.title + notification.body == "1 new notifications")
    }
}
