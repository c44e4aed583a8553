import Core
import Logging
import Push
import Testing
import TimeTestSupport

@testable import Delivery

struct CourierReducingTests {
    private let tooLarge = Outcome(.rejected, reason: "payload-too-large")
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")

    private func alert(_ number: Int, neutral: NeutralTexts = NeutralTexts(title: "New notification")) -> Delivery {
        var delivery = Delivery.sample(number)
        delivery.notification = Notification(
            mode: .alert,
            signal: .reply,
            title: "bob sent you a note",
            body: "long",
            data: #"{"event_id":"e"}"#,
            neutral: neutral
        )
        return delivery
    }

    @Test func tooLargePayloadIsSentAsNudgeImmediately() {
        var driver = QueuesDriver()
        let stored = driver.accept(alert(1), .sample(2))
        driver.end(1, tooLarge)
        #expect(driver.numbersUnderWay == [1])
        let nudge = driver.attempts[0].stored.delivery.notification
        #expect(nudge == .nudge(.reply, urgency: .normal, NeutralTexts(title: "New notification")))
        driver.end(1, delivered)
        #expect(driver.reports.map(\.kind) == [.reduced, .delivered])
        #expect(driver.reports.map(\.attempt) == [1, 2])
        #expect(driver.changes.removals == [stored[0].key])
        #expect(driver.numbersUnderWay == [2])
    }

    @Test(arguments: [Mode.alert, .sealed])
    func unsupportedModeIsDowngradedStepByStep(mode: Mode) {
        var driver = QueuesDriver()
        var delivery = alert(1)
        delivery.notification.mode = mode
        driver.accept(delivery)
        var modes: [Mode] = []
        while let attempt = driver.attempts.first {
            modes.append(attempt.stored.delivery.notification.mode)
            driver.end(1, Outcome(.rejected, reason: "unsupported"))
        }
        #expect(modes == [mode, .nudge, .wake])
        #expect(driver.reports.map(\.kind) == [.reduced, .reduced, .rejected])
    }

    /// A push that waits for a retry shows no more than the device allows by then.
    @Test(arguments: [(Mode.alert, Mode.alert), (.sealed, .nudge), (.nudge, .nudge), (.wake, .wake)])
    func waitingPushFollowsAStricterMode(registered: Mode, sent: Mode) async throws {
        let folder = try TemporaryFolder()
        let (time, directory, transport) = (ManualTime(), FakeDirectory(), FakeTransport())
        let observer = RecordingObserver()
        let courier = try Courier(
            CourierEnvironment(
                store: Outbox(path: folder.path("outbox")),
                directory: directory,
                observer: observer,
                now: { time.now },
                alarm: time,
                transport: { _ in transport }
            ),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        courier.start()
        let delivery = alert(1)
        directory.register(delivery.device, mode: .alert)
        try courier.accept([delivery])
        let first = await transport.attempts(1)[0]
        #expect(first.delivery.notification.mode == .alert)
        first.complete(Outcome(.retry, status: 503, reason: "down", scope: .device))
        await observer.record { $0.reports.count == 1 }
        directory.register(delivery.device, mode: registered)
        time.advance(by: .hours(1))
        let second = await transport.attempts(2)[1].delivery.notification
        #expect(second.mode == sent)
        #expect((second.body == "long") == (sent == .alert))
    }

    @Test func missingNeutralTextsDowngradeToWake() {
        var driver = QueuesDriver()
        driver.accept(alert(1, neutral: NeutralTexts()))
        driver.end(1, tooLarge)
        #expect(driver.attempts.map(\.stored.delivery.notification) == [.wake(.reply, urgency: .normal)])
    }

    /// As loud as the nudge that a stricter device gets for the same event.
    @Test func alertWithoutTextIsSentAsNudge() {
        var driver = QueuesDriver()
        driver.accept(alert(1))
        driver.end(1, Outcome(.rejected, reason: "payload-empty"))
        #expect(driver.attempts.map(\.stored.delivery.notification.mode) == [.nudge])
        driver.end(1, Outcome(.rejected, reason: "payload-empty"))
        #expect(driver.attempts.map(\.stored.delivery.notification) == [.wake(.reply, urgency: .normal)])
        driver.end(1, Outcome(.rejected, reason: "payload-empty"))
        #expect(driver.reports.map(\.kind) == [.reduced, .reduced, .rejected])
    }

    @Test func silentPushIsNeverShown() {
        var driver = QueuesDriver()
        driver.accept(alert(1, neutral: NeutralTexts()))
        driver.end(1, Outcome(.rejected, reason: "payload-empty"))
        #expect(driver.attempts.map(\.stored.delivery.notification) == [.wake(.reply, urgency: .normal)])
    }

    @Test func otherRefusalsAreFinal() {
        var driver = QueuesDriver()
        driver.accept(alert(1))
        driver.end(1, Outcome(.rejected, status: 400, reason: "bad-topic"))
        #expect(driver.reports.map(\.kind) == [.rejected])
    }

    @Test func aLateSecondOutcomeOfTheFirstAttemptIsIgnored() throws {
        var driver = QueuesDriver()
        driver.accept(alert(1))
        let first = try #require(driver.attempts.first)
        driver.end(1, tooLarge)
        driver.handle(.ended(first, delivered))
        #expect(driver.reports.map(\.kind) == [.reduced])
        #expect(driver.numbersUnderWay == [1])
    }

    @Test func theNudgeIsRetriedLikeAnythingElse() {
        var driver = QueuesDriver()
        driver.accept(alert(1))
        driver.end(1, tooLarge)
        driver.end(1, Outcome(.retry, status: 503, reason: "unavailable"))
        driver.advance(by: .minutes(1))
        #expect(driver.attempts.map(\.stored.delivery.notification.mode) == [.nudge])
    }
}
