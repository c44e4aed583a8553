import Console
import Core
import Delivery
import DeliveryTestSupport
import Nostr
import Pipeline
import Push
import Testing

@testable import CarillonRouter
@testable import Observability
@testable import Operations

@Suite struct ExplainerTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)
    private let event = EventID(Bytes32(words: (1, 1, 1, 1)))
    private let alice = PublicKey(Bytes32(words: (2, 2, 2, 2)))
    private let bob = PublicKey(Bytes32(words: (3, 3, 3, 3)))

    private func step(
        _ step: PipelineStep,
        of account: PublicKey? = nil,
        on device: Int64? = nil,
        delivery: DeliveryID? = nil,
        reason: String = ""
    ) -> TraceEntry {
        TraceEntry(
            TraceStep(
                step: step,
                event: event,
                account: account,
                device: device.map(DeviceID.init(rawValue:)),
                delivery: delivery,
                reason: reason
            ),
            at: Self.noon
        )
    }

    /// An entry for all deliveries that are held under one delivery.
    private func group(_ step: PipelineStep, _ delivery: DeliveryID, into whole: DeliveryID? = nil) -> TraceEntry {
        TraceEntry(
            TraceStep(
                step: step,
                event: nil,
                account: alice,
                device: DeviceID(rawValue: 1),
                delivery: delivery,
                reason: whole?.description ?? ""
            ),
            at: Self.noon
        )
    }

    private func report(
        _ kind: DeliveryReport.Kind,
        _ delivery: DeliveryID,
        on device: Int64,
        status: UInt32 = 200,
        reason: String = "",
        attempt: Int = 1,
        nextDue: Timestamp? = nil
    ) -> TraceEntry {
        let report = DeliveryReport(
            delivery: delivery,
            device: DeviceID(rawValue: device),
            queue: QueueName(platform: "ios", app: "default"),
            kind: kind,
            status: status,
            reason: reason,
            attempt: attempt,
            nextDue: nextDue
        )
        return TraceEntry(report, at: Self.noon + .seconds(1))
    }

    private func explain(
        _ history: [TraceEntry],
        for recipient: PublicKey? = nil,
        held: [DeliveryID: String] = [:],
        outbox: Set<DeliveryID>? = nil
    ) -> EventExplanation {
        var surroundings = Explainer.ExplainerContext()
        surroundings.held = held
        surroundings.outbox = outbox
        surroundings.recipient = recipient
        return Explainer(event: event, history: history, surroundings: surroundings).explanation {
            [Sentence("advice-unknown", [:], "advice")]
        }
    }

    @Test func requeuedDeliveryHasNotEnded() {
        var history = [
            step(.queued, of: alice, on: 1, delivery: "a", reason: "dm"),
            report(.rejected, "a", on: 1, status: 400, reason: "payload-empty"),
        ]
        func outcome(_ outbox: Set<DeliveryID>) -> String {
            let surroundings = Explainer.ExplainerContext(outbox: outbox)
            let explainer = Explainer(event: event, history: history, surroundings: surroundings)
            return explainer.explanation { [] }.accounts[0].devices[0].outcome
        }
        #expect(outcome([]).hasPrefix("not delivered: ios/default rejects it permanently"))
        #expect(Explainer.unfinished(history) == [])
        history.append(report(.requeued, "a", on: 1, status: 0, reason: "operator", nextDue: Self.noon))
        #expect(Explainer.unfinished(history) == ["a"])
        #expect(outcome(["a"]) == "an operator had it tried again: it waits for its turn")
        history.append(report(.delivered, "a", on: 1))
        #expect(outcome([]).hasPrefix("delivered"))
        history.append(report(.discarded, "a", on: 1, status: 0, reason: "operator"))
        #expect(outcome([]) == "not delivered: an operator dropped it")
    }

    /// The courier may report a delivery before the pipeline records that it queued it.
    @Test func queuedStepComesBeforeAnEarlierRecordedReport() {
        let device = explain([
            step(.queued, of: alice, on: 1, delivery: "a", reason: "dm"),
            report(.delivered, "b", on: 1),
            step(.queued, of: alice, on: 1, delivery: "b", reason: "dm"),
            report(.delivered, "a", on: 1),
        ]).accounts[0].devices[0]
        #expect(device.steps.map(\.step) == ["queued", "queued", "delivered", "delivered"])
        #expect(device.steps.map(\.delivery) == ["a", "b", "b", "a"].map { DeliveryID(stringLiteral: $0).description })
    }

    @Test func explanationListsAccountsAndDevicesInOrder() {
        let explanation = explain([
            step(.waiting),
            step(.queued, of: alice, on: 1, delivery: "a", reason: "reply"),
            step(.unwanted, of: alice, on: 2, reason: "reply"),
            step(.own, of: bob),
            report(.retry, "a", on: 1, status: 503, reason: "busy", nextDue: Self.noon + .minutes(1)),
            report(.delivered, "a", on: 1, attempt: 2),
        ])
        #expect(explanation.isKnown && explanation.advice.isEmpty)
        #expect(explanation.steps.map(\.step) == ["waiting"])
        #expect(explanation.accounts.map(\.account) == [alice.hex, bob.hex])
        let devices = explanation.accounts[0].devices
        #expect(devices.map(\.device) == [1, 2])
        #expect(devices[0].steps.map(\.step) == ["queued", "retry", "delivered"])
        #expect(devices[0].outcome == "delivered: ios/default took it (200), at the 2nd attempt")
        #expect(
            devices[0].steps[1].words
                == "not delivered yet: ios/default failed (503 busy); it is tried again from 2026-03-14 00:01:00 UTC on"
        )
        #expect(devices[1].outcome == "not sent: the device's filters switch replies off")
        #expect(explanation.accounts[1].devices.isEmpty)
        #expect(explanation.accounts[1].outcome == "not sent: the recipient caused it")
    }

    @Test func deliveriesAreExplainedPerDevice() {
        let explanation = explain([
            step(.queued, of: alice, on: 1, delivery: "a"), step(.queued, of: alice, on: 2, delivery: "b"),
            report(.gone, "b", on: 2, status: 410, reason: "Unregistered"),
        ])
        let devices = explanation.accounts[0].devices
        #expect(devices[0].outcome == "waits for its turn: no attempt has ended yet")
        #expect(
            devices[1].outcome
                == "not delivered: ios/default says the device is gone (410 Unregistered), so it was forgotten"
        )
        #expect(!devices[1].isRegistered && devices[1].platform == "ios")
    }

    @Test func eventRefusedByTheDiskDoesNotWaitForItsTurn() {
        let refused = explain([step(.notKept)])
        #expect(refused.isKnown && refused.accounts.isEmpty)
        #expect(refused.steps.map(\.words) == ["not stored: the disk refused; it can be accepted later"])
        // A copy may be refused while the event itself is under way.
        let taken = explain([step(.queued, of: alice, on: 1, delivery: "a"), step(.notKept)], outbox: ["a"])
        #expect(taken.accounts[0].devices[0].outcome == "waits for its turn: no attempt has ended yet")
    }

    @Test func remarkDoesNotChangeTheOutcome() {
        let steps = [
            step(.queued, of: alice, on: 1, delivery: "a"), step(.valueLeftOut, of: alice, on: 1, reason: "data.n"),
        ]
        let device = explain(steps, outbox: ["a"]).accounts[0].devices[0]
        #expect(device.outcome == "waits for its turn: no attempt has ended yet")
        #expect(device.steps.last?.words == "sent without data.n, because the event has no valid value for it")
        let withheld = explain([step(.withheld, of: alice, on: 1, reason: "apns.content-state.n")])
        #expect(
            withheld.accounts[0].devices[0].outcome
                == "not sent: the event has no valid value for apns.content-state.n, which is required"
        )
    }

    @Test func heldDeliveryShowsUntilWhen() {
        let history = [step(.held, of: alice, on: 1, delivery: "a", reason: "quiet")]
        let held = explain(history, held: ["a": "quiet hours until 07:00 (UTC+9)"], outbox: [])
        #expect(held.accounts[0].devices[0].outcome == "held: quiet hours until 07:00 (UTC+9)")
        let released =
            history + [
                group(.released, "a"), step(.queued, of: alice, on: 1, delivery: "a"), report(.delivered, "a", on: 1),
            ]
        let delivered = explain(released).accounts[0].devices[0]
        #expect(delivered.outcome == "delivered: ios/default took it (200)")
        #expect(delivered.steps.map(\.step) == ["held", "released", "queued", "delivered"])
    }

    @Test func deliveredEventIsNotHeldBecauseAnotherIs() {
        // Held under "b", which was sent as part of "a". By now, another delivery is held for the device.
        let history = [
            step(.batched, of: alice, on: 1, delivery: "b", reason: "cooldown"), group(.joined, "b", into: "a"),
            report(.delivered, "a", on: 1),
        ]
        let waiting: [DeliveryID: String] = ["c": "the device was notified a moment ago"]
        let device = explain(history, held: waiting, outbox: []).accounts[0].devices[0]
        #expect(device.steps.map(\.step) == ["batched", "joined", "delivered"])
        #expect(device.outcome == "delivered: ios/default took it (200)")
        // The history has no entry for the later steps.
        let lost = explain(Array(history.prefix(1)), held: waiting, outbox: [])
        #expect(lost.accounts[0].devices[0].outcome.hasPrefix("not sent: the device was removed"))
    }

    @Test func deliveryThatJoinedAnotherGroupIsHeldWithIt() {
        let history = [
            step(.batched, of: alice, on: 1, delivery: "c", reason: "window"), group(.joined, "c", into: "b"),
            group(.joined, "b", into: "a"),
        ]
        let others = "the device was notified a moment ago"
        let groups: [DeliveryID: String] = ["b": "the device's quiet hours", "d": others]
        let held = explain(Array(history.prefix(2)), held: groups, outbox: [])
        #expect(held.accounts[0].devices[0].outcome == "held: the device's quiet hours")
        #expect(Explainer.unfinished(history) == ["a", "b", "c"])
        let queued = explain(history, held: ["d": others], outbox: ["a"])
        #expect(queued.accounts[0].devices[0].outcome == "waits for its turn: no attempt has ended yet")
    }

    @Test func deliveryOfARemovedDeviceIsNotPartOfALaterPush() {
        let history = [step(.held, of: alice, on: 1, delivery: "a", reason: "cooldown")]
        let left = "not sent: the device was removed while it was held"
        #expect(explain(history, outbox: []).accounts[0].devices[0].outcome == left)
        let told = explain(history + [group(.left, "a")], outbox: []).accounts[0].devices[0]
        #expect(told.outcome == left && told.steps.map(\.step) == ["held", "left"])
    }

    /// The result is also a code, so that pages can translate it.
    @Test func outcomeHasAMachineReadableCode() {
        func ending(
            _ history: [TraceEntry],
            _ change: (inout Explainer.ExplainerContext) -> Void = { _ in }
        ) -> EventExplanation.Ending? {
            var surroundings = Explainer.ExplainerContext(outbox: ["a"])
            change(&surroundings)
            let explainer = Explainer(event: event, history: history, surroundings: surroundings)
            return explainer.explanation { [] }.accounts[0].devices[0].result
        }
        let queued = step(.queued, of: alice, on: 1, delivery: "a", reason: "reply")
        let gone = ending([queued, report(.gone, "a", on: 1, status: 410, reason: "Unregistered", attempt: 2)])
        #expect(gone?.step == "gone" && gone?.status == 410 && gone?.reason == "Unregistered")
        #expect(gone?.platform == "ios" && gone?.attempt == 2 && gone?.pause == nil)
        #expect(ending([step(.unwanted, of: alice, on: 1, reason: "reply")])?.step == "unwanted")
        #expect(ending([queued])?.step == "in-turn")
        #expect(ending([queued]) { $0.outbox = [] }?.step == "unknown")
        let later = ending([queued]) { $0.predecessors = ["a": Self.noon] }
        #expect(later?.step == "in-turn" && later?.nextAt == "2026-03-14T00:00:00.000Z")
        let held = ending([step(.held, of: alice, on: 1, delivery: "a", reason: "quiet")]) { surroundings in
            surroundings.held = ["a": "quiet hours"]
            surroundings.holds = ["a": EventExplanation.Ending(step: "held", reason: "quiet", count: 3)]
        }
        #expect(held == EventExplanation.Ending(step: "held", reason: "quiet", count: 3))
        let failed = report(.retry, "a", on: 1, status: 503, reason: "busy", nextDue: Self.noon + .seconds(2))
        let paused = ending([queued, failed]) { surroundings in
            let queue = QueueName(platform: "ios", app: "default")
            let pause = QueuePause(queue: queue, until: Self.noon + .minutes(1), reason: "quota", cause: .asked)
            surroundings.pauses = [queue: TracedPause(pause, since: Self.noon)]
        }
        #expect(paused?.nextAt == "2026-03-14T00:01:00.000Z" && paused?.pause?.code == "paused-asked")
        #expect(paused?.pause?.values["reason"] == "quota" && paused?.pause?.values["queue"] == "ios/default")
    }

    @Test func deliveryWithUnknownResultDoesNotWaitForever() {
        let history = [step(.queued, of: alice, on: 1, delivery: "a", reason: "reply")]
        let waits = "waits for its turn: no attempt has ended yet"
        #expect(explain(history, outbox: ["a"]).accounts[0].devices[0].outcome == waits)
        #expect(explain(history, outbox: nil).accounts[0].devices[0].outcome == waits)
        #expect(explain(history, outbox: ["b"]).accounts[0].devices[0].outcome.hasPrefix("its end is not known"))
        let tried = history + [report(.retry, "a", on: 1, status: 503, reason: "busy")]
        #expect(explain(tried, outbox: ["a"]).accounts[0].devices[0].outcome.hasPrefix("not delivered yet"))
        #expect(explain(tried, outbox: []).accounts[0].devices[0].outcome.hasPrefix("its end is not known"))
    }

    @Test(arguments: [QueuePause.Cause.misconfigured, .asked], ["busy", "no-transport"])
    func deliveryInAPausedQueueShowsThePause(cause: QueuePause.Cause, reason: String) {
        let history = [
            step(.queued, of: alice, on: 1, delivery: "a", reason: "reply"),
            report(.reduced, "a", on: 1, status: 413), step(.queued, of: alice, on: 1, delivery: "a", reason: "reply"),
        ]
        let queue = QueueName(platform: "ios", app: "default")
        let pause = QueuePause(queue: queue, until: Self.noon + .minutes(1), reason: reason, cause: cause)
        var surroundings = Explainer.ExplainerContext()
        surroundings.outbox = ["a"]
        surroundings.pauses = [queue: TracedPause(pause, since: Self.noon)]
        let explainer = Explainer(event: event, history: history, surroundings: surroundings)
        let outcome = explainer.explanation { [] }.accounts[0].devices[0].outcome
        let words =
            switch (cause, reason) {
            case (.misconfigured, "no-transport"):
                "no plugin serves ios/default since 2026-03-14 00:00:00 UTC; it is looked for again from 2026-03-14 "
                    + "00:01:00 UTC on"
            case (.misconfigured, _):
                "ios/default is paused since 2026-03-14 00:00:00 UTC because it refuses the router's credentials (busy); it is "
                    + "tried again from 2026-03-14 00:01:00 UTC on"
            case (.asked, _): "ios/default asked for a pause until 2026-03-14 00:01:00 UTC (\(reason))"
            }
        let reduced = "too much for ios/default (413): it is sent again with less content"
        #expect(outcome == reduced + "; " + words)
        surroundings.pauses = [QueueName(platform: "ios", app: "other"): TracedPause(pause, since: Self.noon)]
        let unaffected = Explainer(event: event, history: history, surroundings: surroundings).explanation { [] }
        #expect(unaffected.accounts[0].devices[0].outcome == reduced)
    }

    @Test func reportBeforeItsTraceStepIsUsed() {
        let history = [report(.delivered, "a", on: 1), step(.queued, of: alice, on: 1, delivery: "a", reason: "reply")]
        #expect(explain(history).accounts[0].devices[0].outcome == "delivered: ios/default took it (200)")
        #expect(Explainer.unfinished(history).isEmpty)
    }

    @Test func explanationForARecipientOmitsOthers() {
        let history = [step(.forged), step(.own, of: bob), step(.unmatched, of: alice)]
        let explanation = explain(history, for: alice)
        #expect(explanation.accounts.map(\.account) == [alice.hex] && explanation.steps.map(\.step) == ["forged"])
        let stranger = PublicKey(Bytes32(words: (9, 9, 9, 9)))
        #expect(explain(history, for: stranger).advice == ["advice"])
    }

    @Test func unknownEventIsExplainedWithAdvice() {
        let explanation = explain([])
        #expect(!explanation.isKnown && explanation.advice == ["advice"])
        #expect(explanation.adviceSays == [Statement("advice-unknown")])
        #expect(explanation.text.contains(event.hex) && explanation.text.hasSuffix("advice"))
    }

    @Test(arguments: DeliveryReport.Kind.allCases) func everyReportHasAText(_ kind: DeliveryReport.Kind) {
        let explanation = explain([
            step(.queued, of: alice, on: 1, delivery: "a"), report(kind, "a", on: 1, status: 0, reason: "why"),
        ])
        let outcome = explanation.accounts[0].devices[0].outcome
        #expect(outcome.contains(" ") && !outcome.contains("()"))
    }

    @Test func unknownReasonsAreShownUnchanged() {
        var entry = step(.own, of: alice)
        entry.what = .step("teleported")
        #expect(explain([entry]).accounts[0].outcome == "teleported")
    }

    /// The output shows the time of the next real attempt.
    @Test func pausedQueueShowsItsNextAttempt() {
        let history = [
            step(.queued, of: alice, on: 1, delivery: "a", reason: "reply"),
            report(.retry, "a", on: 1, status: 503, reason: "busy", nextDue: Self.noon + .seconds(2)),
        ]
        let queue = QueueName(platform: "ios", app: "default")
        func outcome(pausedFor span: Duration) -> String {
            let pause = QueuePause(queue: queue, until: Self.noon + span, reason: "quota", cause: .asked)
            var surroundings = Explainer.ExplainerContext()
            surroundings.outbox = ["a"]
            surroundings.pauses = [queue: TracedPause(pause, since: Self.noon)]
            let explainer = Explainer(event: event, history: history, surroundings: surroundings)
            return explainer.explanation { [] }.accounts[0].devices[0].outcome
        }
        let failed = "not delivered yet: ios/default failed (503 busy); it is tried again from 2026-03-14"
        #expect(
            outcome(pausedFor: .minutes(10))
                == failed + " 00:10:00 UTC on; ios/default asked for a pause until 2026-03-14 00:10:00 UTC (quota)"
        )
        #expect(outcome(pausedFor: .seconds(1)) == failed + " 00:00:02 UTC on")
    }

    @Test func deliveryWaitingForItsHostShowsUntilWhen() {
        func outcome(_ reason: String, attempt: Int, isToldFirst: Bool = false) -> String {
            let entries = [
                step(.queued, of: alice, on: 1, delivery: "a"),
                report(
                    .postponed,
                    "a",
                    on: 1,
                    status: 0,
                    reason: reason,
                    attempt: attempt,
                    nextDue: Self.noon + .minutes(15)
                ),
            ]
            return explain(isToldFirst ? entries.reversed() : entries, outbox: ["a"]).accounts[0].devices[0].outcome
        }
        let until = "from 2026-03-14 00:15:00 UTC on"
        #expect(
            outcome("host-paused", attempt: 0)
                == "waits: the device's server asked for a pause, or could not be reached; it is tried \(until)"
        )
        // The courier may be faster than the pipeline.
        #expect(outcome("host-paused", attempt: 0, isToldFirst: true) == outcome("host-paused", attempt: 0))
        #expect(outcome("host-paused", attempt: 2).hasSuffix("; it is tried again \(until)"))
        #expect(
            outcome("endpoint-refuses", attempt: 0).hasPrefix("waits: this device's endpoint refused several pushes")
        )
    }
}
