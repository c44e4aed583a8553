import Core
import Delivery
import Nostr
import PlatformTestSupport
import Push
import Registry
import Rules
import Testing
import TimeTestSupport

@testable import Pipeline

/// Pacing delays a push or replaces it by a later one, but never changes its kind.
@Suite struct PushNatureTests {
    private let bench: Workbench
    private let owner: KeyPair

    /// The push kinds that the rules below give to events, by event kind.
    private enum Kinds {
        static let update: UInt16 = 30_001
        static let end: UInt16 = 30_002
        static let call: UInt16 = 30_003
        static let sync: UInt16 = 30_004
        static let stream: UInt16 = 30_311
        static let urgent: UInt16 = 30_006
        static let widget: UInt16 = 30_007
        static let badge: UInt16 = 30_008
        static let counted: UInt16 = 30_009
        static let match: UInt16 = 30_312
    }

    private static let rules = """
        version: 1
        rules:
          - { name: update, signal: x, match: { kinds: [30001] }, apns: { event: update, content-state: { s: "{{event.content}}" } } }
          - { name: end, signal: x, match: { kinds: [30002] }, title: over, apns: { event: end } }
          - { name: call, signal: x, match: { kinds: [30003] }, title: "{{event.content}}", apns: { push-type: voip } }
          - { name: sync, signal: x, match: { kinds: [30004] }, apns: { content-available: 1 }, data: { s: "{{event.content}}" } }
          - name: stream
            signal: x
            match: { kinds: [30311] }
            pace: latest
            key: "{{event.tag.d}}"
            title: "{{event.content}}"
          - { name: urgent, signal: x, match: { kinds: [30006] }, pace: immediate, title: "{{event.content}}" }
          - { name: widget, signal: x, match: { kinds: [30007] }, apns: { push-type: widgets } }
          - { name: badge, signal: x, match: { kinds: [30008] }, apns: { badge: 1 } }
          - { name: counted, signal: x, match: { kinds: [30009] }, pace: batch, apns: { content-available: 1 } }
          - { name: goal, signal: x, match: { kinds: [30312], tags: { status: live } }, apns: { event: update, content-state: { s: "{{event.content}}" } } }
          - { name: final, signal: x, match: { kinds: [30312], tags: { status: ended } }, title: over, apns: { event: end } }
          - { name: note, signal: x, match: { kinds: [1] }, title: note, body: "{{event.content}}" }
        """

    init() throws {
        bench = try Workbench(rules: RuleBook(yaml: Self.rules, name: "rules.yaml"), pacing: PacingPolicy())
        owner = try bench.account(["x"])
    }

    private func send(_ kind: UInt16, _ content: String = "", d: String = "", madeAt seconds: Int64 = 0) throws {
        let tags = [["p", owner.publicKey.hex], ["d", d]]
        let event = try bench.event(
            Kind(kind),
            content,
            tags: tags,
            by: try Workbench.keys(),
            at: bench.clock.now().seconds + seconds
        )
        bench.submit([event])
    }

    /// The deliveries so far, each as a distinguishing string.
    private var sent: [String] {
        bench.kept.map { delivery in
            let notification = delivery.notification
            if notification.count > 1 { return "\(notification.mode) of \(notification.count)" }
            let native = notification.native["ios"] ?? ""
            return [notification.title, native, notification.body].first { !$0.isEmpty } ?? notification.data
        }
    }

    @Test func liveActivityUpdatesReplaceEachOtherAndTheEndIsSentImmediately() throws {
        try send(Kinds.update, "s1")
        try bench.end()
        try send(Kinds.update, "s2")
        try send(Kinds.update, "s3")
        #expect(sent.count == 1 && sent[0].contains("s1"))
        try send(Kinds.end)
        #expect(sent.count == 3 && sent[1].contains("s3") && sent[2] == "over")
        #expect(bench.kept.last?.notification.native["ios"]?.contains("end") == true)
        #expect(try bench.rows().held == 0)
        bench.pass(3600)
        #expect(sent.count == 3)
    }

    @Test(arguments: [false, true])
    func olderUpdateIsNotSentAfterTheEndOfALiveActivity(isRestarted: Bool) throws {
        let author = try Workbench.keys()
        func send(_ status: String, _ content: String, d: String = "", madeAt seconds: Int64) throws {
            let tags = [["p", owner.publicKey.hex], ["d", d], ["status", status]]
            let time = bench.clock.now().seconds + seconds
            bench.submit([try bench.event(Kind(Kinds.match), content, tags: tags, by: author, at: time)])
        }
        try send("live", "1:0", madeAt: 0)
        try bench.end()
        bench.pass(61)
        try send("ended", "2:0", madeAt: 0)
        #expect(sent.count == 2 && sent[1] == "over")
        try bench.end()
        if isRestarted { try bench.restart() }
        bench.pass(61)
        // Made before the end, and one of another match.
        try send("live", "1:1", madeAt: -70)
        bench.pass(61)
        #expect(sent.count == 2)
        try send("live", "0:0", d: "another", madeAt: -140)
        #expect(sent.count == 3 && sent[2].contains("0:0"))
        try bench.end()
        // It may start again.
        try send("live", "3:0", madeAt: 0)
        bench.pass(61)
        #expect(sent.count == 4 && sent[3].contains("3:0"))
    }

    @Test func theLatestUpdateSurvivesARestart() throws {
        try send(Kinds.update, "s1")
        try bench.end()
        try send(Kinds.update, "s2")
        try send(Kinds.update, "s3")
        #expect(try bench.isHeldOnDisk("s3"))
        try bench.restart()
        bench.pass(61)
        #expect(sent.count == 2 && sent[1].contains("s3"))
        #expect(bench.kept[1].notification.count == 1)
    }

    @Test func afterARestartTheEndStillFindsTheUpdateThatWaits() throws {
        try send(Kinds.update, "s1")
        try bench.end()
        try send(Kinds.update, "s2")
        try bench.restart()
        try send(Kinds.end)
        #expect(sent.count == 3 && sent[1].contains("s2") && sent[2] == "over")
    }

    @Test func earlierEventReplacesNoNewerOne() throws {
        try send(Kinds.update, "s1")
        try bench.end()
        try send(Kinds.update, "new", madeAt: 5)
        try send(Kinds.update, "old", madeAt: 4)
        bench.pass(61)
        #expect(sent.count == 2 && sent[1].contains("new"))
    }

    @Test func callsAreSentImmediatelyAndNotCounted() throws {
        for number in 1...3 { try send(Kinds.call, "call \(number)") }
        #expect(sent == ["call 1", "call 2", "call 3"])
        try send(1, "hello")
        #expect(sent.last == "note")
        #expect(bench.count(.held) == 0)
    }

    @Test func callsGoInQuietHoursAndBeyondTheCap() throws {
        let quiet = #","quiet":{"start":"00:00","end":"23:59","tz":"UTC"},"batch":{"daily_cap":1}"#
        let sleeper = try bench.account(["x"], further: quiet)
        for kind in [Kinds.call, Kinds.urgent, Kinds.call, Kinds.end] {
            let tags = [["p", sleeper.publicKey.hex]]
            bench.submit([try bench.event(Kind(kind), "\(kind)", tags: tags, by: try Workbench.keys())])
        }
        // Quiet hours are the device's own setting: only pushes that are not alerts pass them.
        #expect(sent == ["30003", "30003", "over"])
        #expect(bench.count(.held) == 1)
    }

    @Test func silentPushesBecomeOneSilentPush() throws {
        for number in 1...4 { try send(Kinds.sync, "\(number)") }
        try bench.end()
        bench.pass(61)
        #expect(bench.kept.count == 2)
        let last = try #require(bench.kept.last?.notification)
        #expect(last.title.isEmpty && last.body.isEmpty && last.count == 1)
        #expect(last.native["ios"] == #"{"content-available":1}"# && last.data.contains(#""s":"4""#))
    }

    @Test func aRuleMayLetSilentPushesBeCounted() throws {
        for _ in 1...4 { try send(Kinds.counted) }
        try bench.end()
        bench.pass(61)
        #expect(bench.kept.last?.notification == .wake(Signal(rawValue: "x"), urgency: .normal, count: 3))
    }

    @Test(arguments: [Kinds.widget, Kinds.badge])
    func otherPushKindsAreReplacedByTheLatest(kind: UInt16) throws {
        for _ in 1...3 { try send(kind) }
        try bench.end()
        bench.pass(61)
        #expect(bench.kept.count == 2)
        #expect(bench.kept[1].notification.native["ios"] == bench.kept[0].notification.native["ios"])
        #expect(bench.kept[1].notification.count == 1)
    }

    @Test func threeEditsOfOneStreamAreOnePush() throws {
        try send(1, "something")
        try bench.end()
        for title in ["planned", "live", "ended"] { try send(Kinds.stream, title, d: "a") }
        try send(Kinds.stream, "other", d: "b")
        bench.pass(61)
        #expect(sent == ["note", "ended", "other"])
    }

    @Test func pushKindsAreBatchedSeparately() throws {
        try send(1, "first")
        try bench.end()
        for _ in 1...2 {
            try send(1, "later")
            try send(Kinds.sync, "s")
            try send(Kinds.update, "u")
            try send(Kinds.widget)
        }
        bench.pass(61)
        // Alerts form a batch; all others are separate pushes in the same turn.
        #expect(bench.kept.count == 5)
        #expect(bench.kept.filter { $0.notification.count > 1 }.map(\.notification.count) == [2])
        #expect(bench.kept.dropFirst().allSatisfy { $0.acceptedAt == bench.kept[1].acceptedAt })
    }

    @Test func heldUpdateIsSentWithTheAlertThatTakesItsTurn() throws {
        try send(1, "first")
        try bench.end()
        try send(Kinds.update, "u")
        // Timers do not fire until the next event comes.
        bench.clock.advance(by: .seconds(70))
        try send(1, "second")
        #expect(bench.kept.count == 3)
        #expect(sent.last?.contains("\"u\"") == true)
    }

    @Test func alertsBeyondTheLimitAreCounted() throws {
        try send(1, "first")
        try bench.end()
        for number in 0..<(HeldGroup.slotsOfAlerts + 3) { try send(Kinds.stream, "stream \(number)", d: "\(number)") }
        bench.pass(61)
        #expect(bench.kept.count == 1 + HeldGroup.slotsOfAlerts + 1)
        #expect(bench.kept.filter { $0.notification.count == 3 }.count == 1)
    }

    @Test func otherPushesBeyondTheLimitReplaceTheOldest() throws {
        let rules = """
            version: 1
            rules:
              - { signal: x, match: { kinds: [30001] }, key: "{{event.tag.d}}", apns: { event: update, content-state: { d: "{{event.tag.d}}" } } }
            """
        try bench.restart(rules: RuleBook(yaml: rules, name: "rules.yaml"))
        for number in 0...(HeldGroup.slotsOfOthers + 2) { try send(Kinds.update, d: "\(number)") }
        try bench.end()
        bench.pass(61)
        #expect(bench.kept.count == 1 + HeldGroup.slotsOfOthers)
        #expect(bench.kept.allSatisfy { $0.notification.count == 1 })
        #expect(sent.contains { $0.contains("\"\(HeldGroup.slotsOfOthers + 2)\"") })
    }

    @Test func eventThatCannotBeStoredStaysHeld() throws {
        try send(Kinds.update, "s1")
        try bench.end()
        try send(Kinds.update, "s2")
        bench.diskIsFull = true
        try send(Kinds.update, "s3")
        try send(Kinds.end)
        bench.diskIsFull = false
        bench.pass(70)
        #expect(sent.count == 2 && sent[1].contains("s2"))
    }

    @Test func withoutCapacityOnlyNonAlertsAreSentImmediately() throws {
        let room = FakeCapacity()
        let bench = try Workbench(
            rules: RuleBook(yaml: Self.rules, name: "rules.yaml"),
            pacing: PacingPolicy(),
            capacity: room
        )
        let owner = try bench.account(["x"])
        room.set(0, of: QueueName(platform: "ios", app: "default"))
        for kind in [Kinds.call, Kinds.urgent, Kinds.end] {
            let tags = [["p", owner.publicKey.hex]]
            bench.submit([try bench.event(Kind(kind), "\(kind)", tags: tags, by: try Workbench.keys())])
        }
        #expect(bench.kept.map(\.notification.title) == ["30003", "over"])
        #expect(bench.count(.held) == 1)
    }

    @Test func replacedPushIsTraced() throws {
        try send(Kinds.update, "s1")
        try bench.end()
        try send(Kinds.update, "s2")
        try send(Kinds.update, "s3")
        bench.pass(61)
        let released = bench.observed.steps.filter { $0.step == .released }
        #expect(released.map(\.reason) == ["latest of 2"])
        #expect(
            PipelineStep.released.words("latest of 2")
                == "no longer held: sent as the latest of 2"
        )
    }
}

/// Apple's budget of background pushes.
@Suite struct SilentBudgetTests {
    @Test func anIPhoneGetsThreeBackgroundPushesAnHour() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        for _ in 0..<120 {
            bench.submit([try bench.note(to: owner)])
            bench.pass(60)
            while !bench.stored.isEmpty { try bench.end() }
        }
        let times = bench.kept.map { ($0.acceptedAt - Workbench.start) / .minutes(1) }
        #expect(times.filter { $0 < 60 }.count == 3)
        #expect(times.filter { (60..<120).contains($0) }.count == 3)
        #expect(bench.kept.reduce(0) { $0 + $1.notification.count } > 60)
        #expect(bench.kept.allSatisfy { $0.notification.mode == .wake })
    }

    @Test func alertsDoNotWaitForTheBackgroundLimit() throws {
        let rules = """
            version: 1
            rules:
              - { match: { kinds: [1] }, title: hello }
              - { match: { kinds: [7] }, mode: wake }
            """
        let bench = try Workbench(rules: RuleBook(yaml: rules, name: "rules.yaml"), pacing: PacingPolicy())
        let owner = try bench.account(mode: "alert")
        let sent: (Kind) throws -> Void = { kind in
            let tags = [["p", owner.publicKey.hex]]
            let event = try bench.event(kind, tags: tags, by: try Workbench.keys(), at: bench.clock.now().seconds)
            bench.submit([event])
            while !bench.stored.isEmpty { try bench.end() }
            bench.pass(120)
        }
        for _ in 0..<4 { try sent(.reaction) }
        #expect(bench.kept.count == 3)
        try bench.restart()
        try sent(.textNote)
        #expect(bench.kept.count == 4 && bench.kept.last?.notification.mode == .alert)
        while !bench.stored.isEmpty { try bench.end() }
        bench.pass(3600)
        #expect(bench.kept.map(\.notification.mode) == [.wake, .wake, .wake, .alert, .wake])
    }

    @Test func backgroundLimitAppliesToDeclaringPlatforms() {
        let policy = PacingPolicy().adding(silentPushesPerHour: PlatformCatalog.builtIn.silentPushesPerHour)
        #expect(policy.pace(for: PacePreferences(), on: "ios").backgroundPerHour == 3)
        #expect(policy.pace(for: PacePreferences(), on: "android").backgroundPerHour == nil)
        // A device that turns the cooldown off gets each push.
        let preferences = PacePreferences(batch: BatchPreferences(cooldown: .zero))
        #expect(policy.pace(for: preferences, on: "ios").backgroundPerHour == nil)
    }

    @Test func operatorsConfigureAPlatformsBackgroundLimit() {
        var policy = PacingPolicy()
        var android = PacingPolicy.PlatformDefaults()
        (android.cooldown, android.window) = (.seconds(5), .seconds(7))
        (android.dailyCap, android.backgroundPerHour) = (9, 1)
        policy.platforms["android"] = android
        policy.platforms["ios", default: .init()].backgroundPerHour = 0
        #expect(
            policy.pace(for: PacePreferences(), on: "android")
                == Pace(cooldown: .seconds(5), window: .seconds(7), dailyCap: 9, backgroundPerHour: 1)
        )
        #expect(
            policy.pace(for: PacePreferences(), on: "ios")
                == Pace(cooldown: .minutes(1), window: .seconds(30), dailyCap: 100)
        )
        let preferences = PacePreferences(batch: BatchPreferences(cooldown: .seconds(8)))
        #expect(policy.pace(for: preferences, on: "android").cooldown == .seconds(8))
    }
}
