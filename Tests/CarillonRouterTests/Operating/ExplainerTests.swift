import Delivery
import Nostr
import Notifications
import Pipeline
import Testing

@testable import CarillonRouter
@testable import EventTrace

@Suite struct ExplainerTests {
    private static let noon: Int64 = 1_773_446_400_000
    private let event = EventID(Bytes32(words: (1, 1, 1, 1)))
    private let alice = PublicKey(Bytes32(words: (2, 2, 2, 2)))
    private let bob = PublicKey(Bytes32(words: (3, 3, 3, 3)))

    private func step(
        _ step: PipelineStep,
        of account: PublicKey? = nil,
        on device: Int64? = nil,
        delivery: String? = nil,
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

    private func report(
        _ kind: DeliveryReport.Kind,
        _ delivery: String,
        on device: Int64,
        status: UInt32 = 200,
        reason: String = "",
        attempt: Int = 1,
        nextDue: Int64? = nil
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
        return TraceEntry(report, at: Self.noon + 1_000)
    }

    private func explain(
        _ history: [TraceEntry],
        for recipient: PublicKey? = nil,
        waiting: [DeviceID: String] = [:]
    ) -> EventExplanation {
        var surroundings = Explainer.Surroundings()
        surroundings.waiting = waiting
        surroundings.recipient = recipient
        return Explainer(event: event, history: history, surroundings: surroundings).explanation { ["advice"] }
    }

    @Test func toldForEachAccountAndDeviceAndInOrder() {
        let explanation = explain([
            step(.waiting),
            step(.queued, of: alice, on: 1, delivery: "a", reason: "reply"),
            step(.unwanted, of: alice, on: 2, reason: "reply"),
            step(.own, of: bob),
            report(.retry, "a", on: 1, status: 503, reason: "busy", nextDue: Self.noon + 60_000),
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
        #expect(explanation.accounts[1].outcome == "not sent: it is the recipient's own doing")
    }

    @Test func oneDevicesDeliveryIsNotAnothers() {
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

    @Test func whatTheDiskRefusedDoesNotWaitForItsTurn() {
        let explanation = explain([step(.queued, of: alice, on: 1, delivery: "a"), step(.notKept)])
        #expect(
            explanation.accounts[0].devices[0].outcome
                == "not kept: the disk refused; it is taken when it comes again"
        )
        let again = explain([
            step(.queued, of: alice, on: 1, delivery: "a"), step(.notKept),
            step(.queued, of: alice, on: 1, delivery: "a"),
        ])
        #expect(again.accounts[0].devices[0].outcome == "waits for its turn: no attempt has ended yet")
    }

    @Test func whatIsHeldSaysUntilWhen() {
        let history = [step(.held, of: alice, on: 1, delivery: "a", reason: "quiet")]
        let held = explain(history, waiting: [DeviceID(rawValue: 1): "quiet hours until 07:00 (UTC+9)"])
        #expect(held.accounts[0].devices[0].outcome == "held: quiet hours until 07:00 (UTC+9)")
        let gone = explain(history).accounts[0].devices[0]
        #expect(gone.outcome == "held at first, and then part of a later push")
        let released =
            history + [
                step(.released, of: alice, on: 1, delivery: "a"), step(.queued, of: alice, on: 1, delivery: "a"),
                report(.delivered, "a", on: 1),
            ]
        #expect(explain(released).accounts[0].devices[0].outcome == "delivered: ios/default took it (200)")
    }

    @Test func aRecipientsPartIsTheirsAlone() {
        let history = [step(.forged), step(.own, of: bob), step(.unmatched, of: alice)]
        let explanation = explain(history, for: alice)
        #expect(explanation.accounts.map(\.account) == [alice.hex] && explanation.steps.map(\.step) == ["forged"])
        let stranger = PublicKey(Bytes32(words: (9, 9, 9, 9)))
        #expect(explain(history, for: stranger).advice == ["advice"])
    }

    @Test func nothingKnownIsAnAnswer() {
        let explanation = explain([])
        #expect(!explanation.isKnown && explanation.advice == ["advice"])
        #expect(explanation.text.contains(event.hex) && explanation.text.hasSuffix("advice"))
    }

    @Test(arguments: DeliveryReport.Kind.allCases) func everyReportHasWords(_ kind: DeliveryReport.Kind) {
        let explanation = explain([
            step(.queued, of: alice, on: 1, delivery: "a"), report(kind, "a", on: 1, status: 0, reason: "why"),
        ])
        let outcome = explanation.accounts[0].devices[0].outcome
        #expect(outcome.contains(" ") && !outcome.contains("()"))
    }

    @Test func wordsOfOtherVersionsAreShownAsTheyAre() {
        var entry = step(.own, of: alice)
        entry.what = .step("teleported")
        #expect(explain([entry]).accounts[0].outcome == "teleported")
    }
}
