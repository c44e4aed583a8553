import Core
import Delivery
import DeliveryTestSupport
import Nostr
import Observability
import Pipeline
import Push
import Testing

@testable import Operations

/// The explanation of an event whose account's partition moved from one member to another.
@Suite struct MergedExplanationTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)
    private let event = EventID(Bytes32(words: (1, 1, 1, 1)))
    private let alice = PublicKey(Bytes32(words: (2, 2, 2, 2)))

    private func queued(at time: Timestamp = noon) -> EventFacts.Entry {
        EventFacts.Entry(
            time: time.milliseconds,
            step: PipelineStep.queued.rawValue,
            event: event.hex,
            account: alice.hex,
            device: 1,
            delivery: "d1",
            reason: "dm"
        )
    }

    private func delivered(at time: Timestamp) -> EventFacts.Entry {
        EventFacts.Entry(
            time: time.milliseconds,
            report: EventFacts.Entry.Report(
                kind: DeliveryReport.Kind.delivered.rawValue,
                platform: "ios",
                app: "default",
                status: 200,
                attempt: 1,
                nextDue: nil
            ),
            device: 1,
            delivery: "d1",
            reason: ""
        )
    }

    private func device(
        _ members: [(member: String, answer: EventFacts)],
        _ deliveries: [DeliveryFacts],
        isWhole: Bool = true
    ) throws -> EventExplanation.Device {
        var surroundings = Explainer.ExplainerContext()
        surroundings.take(deliveries, isWhole: isWhole)
        let explainer = Explainer(event: event, history: EventFacts.history(members), surroundings: surroundings)
        return try #require(explainer.explanation { [] }.accounts.first?.devices.first)
    }

    @Test func oneMemberQueuedItAndAnotherDeliveredIt() throws {
        let members = [
            ("b", EventFacts(history: [delivered(at: Self.noon + .seconds(9))])),
            ("a", EventFacts(history: [queued()])),
        ]
        #expect(DeliveryQuestion(about: members) == DeliveryQuestion(deliveries: [], devices: [1]))
        let device = try device(members, [DeliveryFacts(contained: []), DeliveryFacts(contained: [])])
        #expect(device.steps.map(\.step) == ["queued", "delivered"] && device.steps.map(\.member) == ["a", "b"])
        #expect(device.outcome.hasPrefix("delivered"))
    }

    @Test func deliveryWaitingOnAnotherMemberIsNotLost() throws {
        let members = [("a", EventFacts(history: [queued()])), ("b", EventFacts())]
        #expect(DeliveryQuestion(about: members).deliveries == ["d1"])
        let due = Self.noon + .minutes(1)
        let there = DeliveryFacts(contained: ["d1"], predecessors: ["d1": due.milliseconds])
        let waiting = try device(members, [DeliveryFacts(contained: []), there])
        #expect(waiting.outcome.hasPrefix("waits for its turn: an earlier push"))
        // All members responded, and none has it.
        let nowhere = [DeliveryFacts(contained: []), DeliveryFacts(contained: [])]
        #expect(try device(members, nowhere).outcome.hasPrefix("its end is not known"))
        // If a member does not respond, that is unknown.
        #expect(
            try device(members, [DeliveryFacts(contained: [])], isWhole: false).outcome.hasPrefix("waits for its turn")
        )
    }

    @Test func newestPushOfAllMembersIsShownForADevice() {
        let old = DeviceOverview.Push(at: "2026-11-26T10:00:00.000Z", outcome: "delivered")
        let new = DeviceOverview.Push(at: "2026-11-26T11:00:00.000Z", outcome: "delivered")
        var (former, owner, stranger) = (DeviceFacts(device: 1), DeviceFacts(device: 1), DeviceFacts(device: 1))
        former.lastSuccess = old
        owner.lastSuccess = new
        owner.owned = DeviceFacts.Owned(pace: nil, waiting: 4, queuePause: "paused")
        stranger.lastError = old
        let overview = DeviceFacts.together([former, owner, stranger])
        #expect(overview.lastSuccess == new && overview.lastError == old)
        #expect(overview.owned?.waiting == 4 && overview.owned?.queuePause == "paused")
        #expect(DeviceFacts.together([former]).owned == nil)
    }
}
