import Delivery
import DeliveryTestSupport
import Nostr
import PlatformTestSupport
import Push
import Registry
import Rules
import Synchronization
import Testing

@testable import Pipeline

/// The steps that the pipeline reports to its trace.
@Suite struct TraceTests {
    private func note(to keys: KeyPair, _ bench: Workbench) throws -> Event {
        try bench.event(.textNote, "hello", tags: [["p", keys.publicKey.hex]], by: Workbench.keys())
    }

    @Test func eachDeviceHasItsStepWithItsDelivery() throws {
        let bench = try Workbench()
        let owner = try bench.account(["mention"])
        bench.submit([try bench.registration(of: owner, Workbench.content(["dm"]), device: "tablet")], from: .feed)
        let event = try note(to: owner, bench)
        bench.submit([event], from: .relay(.live))

        let steps = bench.trace(of: event.id)
        #expect(steps.map(\.step).sorted { $0.rawValue < $1.rawValue } == [.queued, .unwanted])
        #expect(steps.allSatisfy { $0.account == owner.publicKey })
        let queued = try #require(steps.first { $0.step == .queued })
        let delivery = try #require(bench.kept.first)
        #expect(queued.delivery == delivery.id && queued.device == delivery.device && !queued.reason.isEmpty)
        let unwanted = try #require(steps.first { $0.step == .unwanted })
        #expect(unwanted.device != nil && unwanted.device != delivery.device && unwanted.reason == "mention")
        #expect(unwanted.step.words(unwanted.reason) == "not sent: the device's filters switch mentions off")
    }

    @Test func unaddressedAndDuplicateEventsAreCountedAndNotTraced() throws {
        let bench = try Workbench()
        let owner = try bench.account()
        let event = try note(to: owner, bench)
        let stray = try note(to: Workbench.keys(), bench)
        bench.submit([event, event, stray], from: .relay(.live))
        bench.submit([event], from: .relay(.live))
        #expect(bench.trace(of: event.id).map(\.step) == [.queued])
        #expect(bench.trace(of: stray.id).isEmpty)
        #expect(bench.count(.duplicate) == 2 && bench.count(.unaddressed) == 1)
    }

    @Test func stepForAWholeAccountNamesNoDevice() throws {
        let bench = try Workbench()
        let owner = try bench.account()
        let event = try bench.event(.textNote, "to myself", tags: [["p", owner.publicKey.hex]], by: owner)
        bench.submit([event], from: .relay(.live))
        let steps = bench.trace(of: event.id)
        #expect(steps == [TraceStep(step: .own, event: event.id, account: owner.publicKey)])
    }

    @Test func registrationTraceNamesItsDeviceOrRefusal() throws {
        let bench = try Workbench()
        let owner = try Workbench.keys()
        let good = try bench.registration(of: owner, Workbench.content())
        let bad = try bench.registration(of: owner, #"{"platform":"ios"}"#, device: "tablet")
        bench.submit([good, bad], from: .feed)
        let registered = try #require(bench.trace(of: good.id).last)
        #expect(registered.step == .registered && registered.device != nil && registered.account == owner.publicKey)
        let refused = try #require(bench.trace(of: bad.id).last)
        #expect(refused.step == .registrationRefused && refused.reason.contains("token"))
    }

    @Test func forgedCopyIsTracedWithoutAnAccount() throws {
        let bench = try Workbench()
        let owner = try bench.account()
        let event = try note(to: owner, bench)
        let text = String(decoding: event.json, as: UTF8.self).replacing("hello", with: "hullo")
        bench.submit([Array(text.utf8)], from: .relay(.live))
        #expect(bench.trace(of: event.id) == [TraceStep(step: .forged, event: event.id)])
    }

    @Test func eventRefusedByTheDiskIsTracedAfterwards() throws {
        let bench = try Workbench()
        let owner = try bench.account()
        let event = try note(to: owner, bench)
        bench.diskIsFull = true
        bench.submit([event], from: .relay(.live))
        #expect(bench.trace(of: event.id).map(\.step) == [.notKept])
        #expect(bench.count(.queued) == 0 && bench.count(.notKept) == 1)
        bench.diskIsFull = false
        bench.submit([event], from: .relay(.live))
        #expect(bench.trace(of: event.id).map(\.step) == [.notKept, .queued])
    }

    private func benchOfScores() throws -> Workbench {
        try Workbench(
            rules: RuleBook(
                yaml: """
                    version: 1
                    rules:
                      - name: game
                        match: { kinds: 1, tags: { live: true } }
                        title: "{{author.name}}"
                        apns: { event: update, content-state: { score: !!int "{{event.tag.score}}" } }
                      - name: note
                        match: { kinds: 1 }
                        title: "{{author.name}}"
                        data: { level: !!int "{{event.tag.score}}" }
                        apns: { relevance-score: "{{event.tag.score}}" }
                        webpush: { icon: "{{event.tag.score}}" }
                    """,
                name: "test"
            ),
            pacing: nil
        )
    }

    @Test func omittedValuesAreTracedForTheDeviceAndCounted() throws {
        let bench = try benchOfScores()
        let owner = try bench.account()
        let tags = [["p", owner.publicKey.hex]]
        let good = try bench.event(.textNote, tags: tags + [["score", "1"]], by: Workbench.keys())
        let bad = try bench.event(.textNote, tags: tags + [["score", "12.7"]], by: Workbench.keys())
        bench.submit([good, bad], from: .relay(.live))
        #expect(bench.trace(of: good.id).map(\.step) == [.queued])
        #expect(bench.trace(of: bad.id).map(\.step) == [.queued, .valueLeftOut])
        let remark = try #require(bench.trace(of: bad.id).last)
        #expect(remark.device == bench.kept.last?.device && remark.reason == "data.level, apns.relevance-score")
        #expect(
            remark.step.words(remark.reason)
                == "sent without data.level, apns.relevance-score, because the event has no valid value for it"
        )
        #expect(
            bench.observed.leftOut.withLock(\.self) == [
                RuleValue(rule: "note", key: "data.level"): 1, RuleValue(rule: "note", key: "apns.relevance-score"): 1,
            ]
        )
        #expect(bench.kept.count == 2)
    }

    @Test func eventWithoutARequiredValueIsNotSentAndTraced() throws {
        let bench = try benchOfScores()
        let owner = try bench.account()
        bench.submit([try bench.registration(of: owner, Workbench.content(mode: "nudge"), device: "old")], from: .feed)
        let tags = [["p", owner.publicKey.hex], ["live"]]
        let good = try bench.event(.textNote, tags: tags + [["score", "3"]], by: Workbench.keys())
        let bad = try bench.event(.textNote, tags: tags + [["score", "3.5"]], by: Workbench.keys())
        bench.submit([good, bad], from: .relay(.live))
        // A device whose mode shows none of it is notified as usual. A Live Activity's update lights nothing up, so
        // neither does its nudge.
        #expect(bench.kept.map(\.notification.mode).sorted() == [.wake, .wake, .alert])
        let withheld = try #require(bench.trace(of: bad.id).first { $0.step == .withheld })
        #expect(withheld.device != nil && withheld.delivery == nil)
        #expect(withheld.reason == "apns.content-state.score")
        #expect(
            withheld.step.words(withheld.reason)
                == "not sent: the event has no valid value for apns.content-state.score, which is required"
        )
        #expect(bench.count(.withheld) == 1)
        #expect(
            bench.observed.leftOut.withLock(\.self) == [RuleValue(rule: "game", key: "apns.content-state.score"): 1]
        )
    }

    @Test(arguments: StepReason.allCases) func knownReasonHasAText(_ reason: StepReason) {
        #expect(PipelineStep.registered.words(reason.rawValue) == "registration accepted: \(reason.words)")
        // Rules may be called like a reason.
        #expect(PipelineStep.dropped.words(reason.rawValue).contains("'\(reason.rawValue)'"))
    }

    @Test(arguments: PipelineStep.allCases) func everyStepHasAText(_ step: PipelineStep) {
        for reason in ["", "reply"] {
            let words = step.words(reason)
            #expect(!words.isEmpty && !words.hasSuffix(": ") && !words.contains("''") || reason.isEmpty)
        }
    }
}
