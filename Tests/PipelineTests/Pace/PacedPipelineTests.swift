import Core
import Delivery
import DeliveryTestSupport
import Logging
import Nostr
import PlatformTestSupport
import Push
import Registry
import Rules
import Synchronization
import Testing
import TimeTestSupport

@testable import Pipeline

/// Pacing through the pipeline, on an outbox on disk.
@Suite struct PacedPipelineTests {
    @Test func heldEventIsSentWithItsOwnText() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner, "first")])
        try bench.end()
        bench.submit([try bench.note(to: owner, "second")])
        #expect(bench.kept.count == 1)
        #expect(bench.count(.held) == 1)
        #expect(try bench.isHeldOnDisk("second"))
        bench.pass(61)
        #expect(bench.kept.count == 2)
        #expect(bench.kept.last?.notification.body.contains("second") == true)
        #expect(bench.kept.last?.acceptedAt == Workbench.start + .minutes(1))
        #expect(bench.count(.released) == 1)
        #expect(try bench.rows().held == 0)
    }

    @Test(arguments: Mode.allCases)
    func batchShowsACountAndNoContent(mode: Mode) throws {
        let sealer = FakeSealer()
        let bench = try Workbench.paced(dependencies: PipelineDependencies(sealer: sealer))
        let owner = try bench.account(mode: mode.name)
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        let held = try (0..<3).map { try bench.note(to: owner, "secret \($0)") }
        bench.submit(held)
        bench.pass(61)
        #expect(try !bench.isHeldOnDisk("secret"))
        let batch = try #require(bench.kept.last)
        #expect(bench.kept.count == 2)
        #expect(batch.id == "\(held[0].id.hex.prefix(8))-\(batch.device.rawValue)")
        let notification = batch.notification
        switch mode {
        case .wake: #expect(notification == .wake(.mention, urgency: notification.urgency, count: 3))
        case .nudge: #expect(notification.mode == .nudge && notification.count == 3 && !notification.neutral.isEmpty)
        case .sealed:
            #expect(notification.sealed == #"{"for":\#(batch.device.rawValue)}"#)
            let whole = try #require(sealer.given.withLock(\.self).last)
            #expect(whole.id == batch.id)
            #expect(whole.notification.title == "3 new notifications" && whole.notification.count == 3)
        case .alert:
            #expect(notification.title == "3 new notifications" && notification.count == 3)
        }
        #expect(bench.count(.held) == 1)
        #expect(bench.count(.batched) == 2)
    }

    @Test func sentEventIsBatchedWithHeldOnes() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner)])
        // Timers do not fire until the next event comes.
        bench.clock.advance(by: .seconds(70))
        bench.submit([try bench.note(to: owner)])
        #expect(bench.kept.map(\.notification.count) == [1, 2])
        #expect(try bench.rows().held == 0)
    }

    @Test func threadWakesWhenAHeldEventIsDue() async throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner)])
        let store = try #require(bench.outbox)
        let intake = Intake()
        let (registry, clock) = (bench.registry, bench.clock)
        let (released, continuation) = AsyncStream<Int>.makeStream()
        let pipeline = try Self.pipeline(
            registry,
            intake,
            store,
            kept: { continuation.yield($0) },
            now: {
                // Each reading of the clock takes so long that a few milliseconds of the cooldown remain.
                clock.advance(by: .milliseconds(1_249))
                return clock.now()
            }
        )
        let thread = PipelineThread(isFull: { false }, pipeline: pipeline)
        var deliveries = released.makeAsyncIterator()
        #expect(await deliveries.next() == 1)
        intake.close()
        await thread.join()
    }

    private static func pipeline(
        _ registry: Registry,
        _ intake: Intake,
        _ outbox: Outbox,
        kept: @escaping @Sendable (Int) -> Void,
        now: @escaping @Sendable () -> Timestamp
    ) throws -> sending Pipeline {
        var dependencies = PipelineDependencies()
        dependencies.now = now
        return try Pipeline(
            settings: PipelineSettings(rules: RuleBook.builtIn(), pacing: PacingPolicy(cooldown: .seconds(5))),
            registry: registry,
            intake: intake,
            storage: PipelineStorage(paceStore: outbox) { deliveries, causes, pace in
                try outbox.insert(deliveries, causes: causes.map(\.bytes.array), pace: pace) { _ in }
                kept(deliveries.count)
            },
            dependencies: dependencies
        )
    }

    @Test func hintsArePacedToo() throws {
        let partner = try Workbench.keys()
        let bench = try Workbench.paced(dependencies: PipelineDependencies(hintHeard: { _, _, _ in }))
        let owner = try bench.account(mode: "alert", partners: [partner.publicKey])
        for number in 0..<3 {
            let tags = [["p", owner.publicKey.hex], ["t", "dm"], ["n", String(number)]]
            bench.submit([try bench.event(.wakeUpHint, tags: tags, by: partner)])
        }
        #expect(bench.kept.map(\.notification) == [.wake(.dm, urgency: .high)])
        try bench.end()
        bench.pass(61)
        #expect(bench.kept.last?.notification == .wake(.dm, urgency: .high, count: 2))
    }

    @Test func singleEventThatExpiredWhileHeldIsNotSent() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        let soon = String(Workbench.time + 30)
        let tags = [["p", owner.publicKey.hex], ["expiration", soon]]
        bench.submit([try bench.event(.textNote, "brief", tags: tags, by: try Workbench.keys())])
        #expect(bench.count(.held) == 1)
        bench.pass(61)
        #expect(bench.kept.count == 1)
        #expect(bench.count(.expired) == 1)
        #expect(try bench.rows().held == 0)
        // And it left no cooldown.
        bench.submit([try bench.note(to: owner)])
        #expect(bench.kept.count == 2)
    }

    private func brief(_ bench: Workbench, to owner: KeyPair, _ content: String = "brief") throws -> Event {
        let tags = [["p", owner.publicKey.hex], ["expiration", String(Workbench.time + 30)]]
        return try bench.event(.textNote, content, tags: tags, by: try Workbench.keys())
    }

    @Test(arguments: [false, true])
    func severalEventsExpiredWhileHeldSendNoPush(afterARestart: Bool) throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit(try (0..<2).map { _ in try brief(bench, to: owner) })
        if afterARestart { try bench.restart() }
        bench.pass(61)
        bench.pipeline?.process(Arrivals())
        #expect(bench.kept.count == 1)
        #expect(bench.count(.expired) == 1)
        #expect(try bench.rows().held == 0)
    }

    /// Otherwise the courier would retry them after that.
    @Test(arguments: [[30], [600, 500], [500, 600], [600, nil]])
    func pushExpiresWithItsLastEvent(seconds: [Int64?]) throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        if seconds.count > 1 {
            bench.submit([try bench.note(to: owner)])
            try bench.end()
        }
        for seconds in seconds {
            let expiration = seconds.map { [["expiration", String(Workbench.time + $0)]] } ?? []
            let tags = [["p", owner.publicKey.hex]] + expiration
            bench.submit([try bench.event(.textNote, "brief", tags: tags, by: try Workbench.keys())])
        }
        bench.pass(61)
        let push = try #require(bench.kept.last).notification
        #expect(Int(push.count) == seconds.count)
        let ends = seconds.map { seconds in seconds.map { Workbench.start + .seconds($0) } }
        #expect(push.expiresAt == (ends.contains(nil) ? .epoch : ends.compactMap(\.self).max()))
    }

    @Test func eventAfterAnExpiredOneKeepsItsText() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try brief(bench, to: owner)])
        // The second comes while the batch still waits, and replaces the expired event.
        bench.clock.advance(by: .seconds(40))
        let second = try bench.note(to: owner, "second")
        bench.submit([second])
        #expect(try bench.isHeldOnDisk("second") && !bench.isHeldOnDisk("brief"))
        bench.pass(21)
        #expect(bench.kept.last?.notification.body.contains("second") == true)
        #expect(bench.count(.expired) == 1)
    }

    @Test func immediatePushTakesNoExpiredEventsAlong() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try brief(bench, to: owner)])
        bench.clock.advance(by: .seconds(70))
        bench.submit([try bench.note(to: owner, "at once")])
        #expect(bench.kept.count == 2)
        #expect(bench.kept.last?.notification.body.contains("at once") == true)
        #expect(bench.count(.expired) == 1)
        #expect(try bench.rows().held == 0)
    }

    @Test func severalHeldEventsExpireByTheirRule() throws {
        let rules = try RuleBook(
            yaml: "version: 1\nrules:\n  - { match: { kinds: [1] }, title: hello, expires: 1m }\n",
            name: "test"
        )
        let bench = try Workbench(rules: rules, pacing: PacingPolicy())
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner), try bench.note(to: owner)])
        bench.pass(61)
        #expect(bench.kept.count == 1)
        #expect(bench.count(.expired) == 1)
    }

    @Test func firstThreeEventsOfAWindowAreSentSeparatelyWithoutACooldown() throws {
        let bench = try Workbench.paced(PacingPolicy(cooldown: .zero))
        let owner = try bench.account(mode: "alert")
        for number in 1...5 { bench.submit([try bench.note(to: owner, "note \(number)")]) }
        #expect(bench.kept.map(\.notification.count) == [1, 1, 1])
        try bench.restart()
        bench.pass(31)
        #expect(bench.kept.map(\.notification.count) == [1, 1, 1, 2])
        #expect(bench.kept.last?.acceptedAt == Workbench.start + .seconds(30))
    }

    @Test func heldEventExpiresByItsRule() throws {
        let rules = try RuleBook(
            yaml: "version: 1\nrules:\n  - { match: { kinds: [1] }, title: hello, expires: 1m }\n",
            name: "test"
        )
        let bench = try Workbench(rules: rules, pacing: PacingPolicy())
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner)])
        bench.pass(61)
        #expect(bench.kept.count == 1)
        #expect(bench.count(.expired) == 1)
    }

    @Test func removedDeviceDropsItsHeldEvents() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner, "secret")])
        #expect(try bench.isHeldOnDisk("secret"))
        let slot = [["d", "\(bench.identity.publicKey.hex):phone"]]
        bench.submit([try bench.event(.pushRegistration, tags: slot, by: owner, at: Workbench.time - 50)])
        bench.pipeline?.process(Arrivals())
        #expect(try bench.rows() == (0, 0))
        bench.pass(200)
        #expect(bench.kept.count == 1)
    }

    @Test func deviceRemovedWhileTheRouterWasDownIsForgottenAtTheStart() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner, "secret")])
        try bench.registry.removeGone(try #require(bench.kept.first).device, registeredAt: .distantFuture)
        try bench.restart()
        bench.pipeline?.process(Arrivals())
        #expect(try bench.rows() == (0, 0))
        bench.pass(200)
        #expect(bench.kept.count == 1)
    }

    @Test func deviceThatRegistersAgainIsNotifiedInItsNewMode() throws {
        let bench = try Workbench.paced()
        let owner = try Workbench.keys()
        let content = Workbench.content(mode: "alert", further: #","batch":{"cooldown_seconds":3600}"#)
        bench.submit([try bench.registration(of: owner, content)], from: .feed)
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner, "secret")])
        bench.pass(100)
        #expect(bench.kept.count == 1)
        let shorter = Workbench.content(mode: "wake", further: #","batch":{"cooldown_seconds":10}"#)
        bench.submit([try bench.registration(of: owner, shorter, secondsAgo: 50)], from: .feed)
        bench.pipeline?.process(Arrivals())
        #expect(bench.kept.count == 2)
        // It wants less to be seen by now.
        #expect(bench.kept.last?.notification.mode == .wake)
        #expect(bench.kept.last?.notification.title == "")
    }

    @Test func failingDiskAcceptsNoEventsAndLosesNone() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        let second = try bench.note(to: owner)
        bench.diskIsFull = true
        #expect(bench.submit([second]).allSatisfy { !$0.result.isFinal })
        bench.diskIsFull = false
        #expect(bench.submit([second]).map(\.result) == [.accepted])
        bench.diskIsFull = true
        bench.pass(65)
        #expect(bench.kept.count == 1)
        #expect(try bench.rows().held == 1)
        bench.diskIsFull = false
        bench.pass(1)
        #expect(bench.kept.map(\.notification.count) == [1, 1])
        #expect(try bench.rows().held == 0)
    }

    @Test func anEventThatIsHeldIsKnownAfterARestart() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "wake")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        let held = try bench.note(to: owner)
        bench.submit([held])
        try bench.restart()
        #expect(bench.submit([held]).map(\.result) == [.duplicate])
        bench.pass(61)
        #expect(bench.kept.map(\.notification.count) == [1, 1])
    }

    @Test func devicesWithoutPacingAreNotPaced() throws {
        let bench = try Workbench.paced(PacingPolicy(cooldown: .zero, window: .zero, dailyCap: 0))
        let owner = try bench.account(mode: "wake")
        bench.submit(try (0..<10).map { _ in try bench.note(to: owner) })
        #expect(bench.kept.count == 10)
        #expect(try bench.rows() == (0, 0))
    }

    @Test func unavailablePushServiceDoesNotFillTheOutbox() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        for _ in 0..<200 { bench.submit([try bench.note(to: owner)]) }
        bench.pass(3600)
        #expect(bench.outbox?.count == 1)
        #expect(try bench.rows() == (1, 1))
        try bench.end(isDelivered: false)
        #expect(bench.kept.map(\.notification.count) == [1, 199])
    }

    @Test(arguments: [false, true])
    func nonBlockingPushDoesNotSilenceItsDevice(afterARestart: Bool) throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(mode: "alert")
        bench.submit([try bench.note(to: owner, "poison")])
        if !afterARestart { bench.submit([try bench.note(to: owner, "second")]) }
        try bench.stopBlocking()
        if afterARestart {
            // If no push waits, only the outbox has recorded the delivery.
            try bench.restart()
            bench.submit([try bench.note(to: owner, "second")])
        }
        #expect(bench.kept.map(\.notification.body) == ["poison", "second"])
        #expect(bench.outbox?.count == 2)
    }
}
