import Push
import Testing
import TimeTestSupport

@Suite struct StricterTests {
    @Test func nudgeWithoutTextBecomesAWakeUp() {
        let nudge = Notification.nudge(.dm, urgency: .high, count: 3, NeutralTexts())
        #expect(nudge == .wake(.dm, urgency: .high, count: 3))
        #expect(Notification.nudge(.dm, urgency: .high, NeutralTexts(body: "b")).mode == .nudge)
    }

    @Test(arguments: [Mode.sealed, .alert]) func alertIsDowngradedToNudgeThenToWake(_ mode: Mode) {
        var alert = Notification(mode: mode, signal: .dm, title: "bob", expiresAt: 7)
        alert.neutral = NeutralTexts(title: "New notification")
        #expect(alert.stricter?.neutral == alert.neutral)
        #expect(alert.stricter?.title == "")
        #expect([alert.stricter?.mode, alert.stricter?.stricter?.mode] == [.nudge, .wake])
        #expect(alert.stricter?.stricter?.expiresAt == 7)
        #expect(alert.stricter?.stricter?.stricter == nil)
        alert.neutral = NeutralTexts()
        #expect(alert.stricter?.mode == .wake)
    }
}
