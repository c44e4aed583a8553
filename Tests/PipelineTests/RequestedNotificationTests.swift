import Core
import Delivery
import JSON
import Nostr
import PlatformTestSupport
import Push
import Rules
import Testing
import TimeTestSupport

@testable import Pipeline

/// A notification requested over the API takes the same path as all events.
struct RequestedNotificationTests {
    private static func order(
        _ json: String,
        signal: Signal? = nil,
        devices: Set<DeviceID>? = nil
    ) throws
        -> NotificationOrder
    {
        guard case .object(let object) = try JSONValue(parsing: json) else { throw CancellationError() }
        let rule = try Rule.requested(
            object,
            by: RuleBook.builtIn(),
            name: "api",
            platforms: .builtIn,
            blockChecks: [:]
        )
        return NotificationOrder(.rule(rule), signal: signal, devices: devices)
    }

    private static func event(_ bench: Workbench, for owners: [KeyPair], _ request: String = "1") throws -> Event {
        try bench.event(
            .requestedNotification,
            "",
            tags: owners.map { ["p", $0.publicKey.hex] } + [["request", request, "0"]],
            by: bench.identity
        )
    }

    @Test func requestedNotificationReachesItsRecipientsOnce() throws {
        let bench = try Workbench()
        let (alice, bob) = (try bench.account(mode: "alert"), try bench.account(mode: "nudge"))
        _ = try bench.account(mode: "alert")
        let event = try Self.event(bench, for: [alice, bob])
        let order = try Self.order(#"{"title": "hello", "mode": "alert"}"#)
        let first = bench.submit([event], from: .api(order))
        #expect(first.map(\.result) == [.accepted])
        #expect(Set(bench.kept.map(\.notification.mode)) == [.alert, .nudge])
        #expect(bench.kept.allSatisfy { $0.notification.signal == .notification })
        // After a crash the event is created again with the same id.
        let again = bench.submit([event], from: .api(order))
        #expect(again.map(\.result) == [.duplicate] && bench.kept.count == 2)
        try bench.restart()
        #expect(bench.submit([event], from: .api(order)).map(\.result) == [.duplicate] && bench.kept.count == 2)
    }

    /// No rule of the operator has a text in that language.
    @Test func aDevicesLanguageChoosesAmongTheNotificationsTexts() throws {
        let bench = try Workbench()
        let people = try [#","locale":"de-AT""#, #","locale":"fr""#, ""].map { try bench.account(further: $0) }
        let order = try Self.order(#"{"title": {"default": "hello", "de": "hallo"}, "mode": "alert"}"#)
        _ = bench.submit([try Self.event(bench, for: people)], from: .api(order))
        #expect(bench.kept.map(\.notification.title) == ["hallo", "hello", "hello"])
    }

    @Test func onlyTheAPICanRequestANotification() throws {
        let rules = "version: 1\nrules: [{ match: { kinds: [20063] }, signal: news, title: a }]"
        let bench = try Workbench(rules: RuleBook(yaml: rules, name: "test"))
        let alice = try bench.account(["news"])
        let event = try Self.event(bench, for: [alice])
        for source in [EventSource.socket(authenticated: [bench.identity.publicKey]), .feed, .relay(.live)] {
            _ = bench.submit([event], from: source)
        }
        #expect(bench.kept.isEmpty)
        _ = bench.submit([event], from: .api(NotificationOrder(.template("rule-1"))))
        #expect(bench.kept.map(\.notification.title) == ["a"])
    }

    /// Events that this process signed are not verified again; other events that claim to come from the API are.
    @Test func onlyEventsOfThisProcessSkipVerification() throws {
        let bench = try Workbench()
        let alice = try bench.account(mode: "alert")
        var event = try Self.event(bench, for: [alice])
        event.signature.first = Bytes32(words: (1, 2, 3, 4))
        let order = try Self.order(#"{"title": "hello"}"#)
        guard case .refused = try #require(bench.submit([event], from: .api(order)).first).result else {
            Issue.record("a forged event was taken")
            return
        }
        let answer = Answer()
        let ours = Submission(events: [event.json], source: .api(order), isOurs: true, completion: answer.take)
        bench.pipeline?.process(Arrivals(submissions: [ours]))
        #expect(answer.results == [.accepted] && bench.kept.count == 1)
    }

    /// The sender learns that a second notification waits for the cooldown, and until when.
    @Test func notifiedDevicesAreCounted() throws {
        let bench = try Workbench.paced()
        let people = [try bench.account(["zap"]), try bench.account(["dm"])]
        let first = try Self.order(#"{"title": "a"}"#)
        #expect(first.counts == nil)
        _ = bench.submit([try Self.event(bench, for: people)], from: .api(first))
        var expected = NotificationOrder.Counts()
        (expected.devices, expected.queued) = (2, 2)
        #expect(first.counts == expected)
        let early = try Self.order(#"{"title": "b"}"#)
        _ = bench.submit([try Self.event(bench, for: people, "2")], from: .api(early))
        (expected.queued, expected.held) = (0, 2)
        expected.heldUntil = Workbench.start + .minutes(1)
        #expect(early.counts == expected)
        try bench.end()
        bench.clock.advance(by: .seconds(20))
        let later = try Self.order(#"{"title": "c"}"#, signal: .zap)
        _ = bench.submit([try Self.event(bench, for: people, "3")], from: .api(later))
        // One device switched the signal off.
        expected.held = 1
        #expect(later.counts == expected)
        _ = bench.submit([try Self.event(bench, for: people, "3")], from: .api(later))
        #expect(later.counts == expected)
    }

    @Test func aDeviceThatSwitchedASignalOffIsNotWoken() throws {
        let bench = try Workbench()
        let alice = try bench.account(["dm"])
        let event = try Self.event(bench, for: [alice])
        _ = bench.submit([event], from: .api(try Self.order(#"{"title": "a"}"#, signal: .zap)))
        #expect(bench.kept.isEmpty && bench.observed.steps.last?.step == .unwanted)
    }

    @Test func otherDevicesGetNoPush() throws {
        let bench = try Workbench()
        let alice = try bench.account(mode: "alert")
        let none = try Self.order(#"{"title": "a"}"#, devices: [DeviceID(rawValue: 999)])
        _ = bench.submit([try Self.event(bench, for: [alice])], from: .api(none))
        #expect(bench.kept.isEmpty)
    }
}
