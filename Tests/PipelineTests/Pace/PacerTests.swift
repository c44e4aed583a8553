import Core
import DeliveryTestSupport
import Nostr
import Push
import Registry
import Testing
import TimeTestSupport

@testable import Pipeline

/// The pacer's other work: batches that the disk refuses, changed preferences and removed devices.
@Suite struct PacerTests {
    private let start = Timestamp(seconds: 1_773_489_600)
    private let pace = Pace(cooldown: .minutes(1), window: .seconds(30), dailyCap: 3)
    private let device = DeviceID(rawValue: 7)
    private let account = PublicKey(Bytes32(repeating: 9))

    private func match(_ number: UInt8 = 1, mode: Mode = .alert, urgency: Urgency = .normal) -> PaceMatch {
        PaceMatch(
            event: EventID(Bytes32(repeating: number)),
            signal: .mention,
            mode: mode,
            urgency: urgency,
            expiresAt: 0
        )
    }

    private func held() -> Pacer {
        var pacer = Pacer()
        pacer.notice(start)
        _ = pacer.admit(match(1), of: device, account, pace, at: start)
        pacer.release("a", to: device, at: start)
        pacer.end("a", of: device, counts: true, at: start)
        _ = pacer.admit(match(2), of: device, account, pace, at: start + .milliseconds(1))
        pacer.commit()
        return pacer
    }

    @Test func batchRefusedByTheDiskChangesNoState() {
        var pacer = held()
        let before = pacer[device]
        _ = pacer.admit(match(3), of: device, account, pace, at: start + .milliseconds(2))
        _ = pacer.admit(match(4), of: DeviceID(rawValue: 8), account, pace, at: start + .milliseconds(2))
        pacer.release("c", to: DeviceID(rawValue: 8), at: start + .milliseconds(2))
        #expect(pacer.changes.count == 2)
        #expect(pacer.waitingDevices == 1)
        pacer.rollBack(until: start + .milliseconds(1_002))
        #expect(pacer[device] == before)
        #expect(pacer[DeviceID(rawValue: 8)] == nil)
        #expect(pacer.waitingDevices == 1)
        #expect(!pacer.uncommitted.isTouched)
    }

    @Test func releaseRefusedByTheDiskIsRepeated() {
        var pacer = held()
        let due = start + .minutes(1)
        #expect(pacer.nextDue == due)
        let first = pacer.takeDue(at: due) { _, _ in pace }
        pacer.release("b", to: device, at: due)
        #expect(first.map(\.device) == [device])
        pacer.rollBack(until: due + .seconds(1))
        #expect(pacer.takeDue(at: due + .milliseconds(999)) { _, _ in pace } == [])
        #expect(pacer.takeDue(at: due + .seconds(1)) { _, _ in pace } == first)
    }

    @Test func deliveryEndCountsEvenIfTheDiskFails() {
        var pacer = Pacer()
        pacer.notice(start)
        _ = pacer.admit(match(1), of: device, account, pace, at: start)
        pacer.release("a", to: device, at: start)
        pacer.commit()
        pacer.end("a", of: device, counts: false, at: start + .milliseconds(1))
        _ = pacer.admit(match(2), of: device, account, pace, at: start + .milliseconds(2))
        pacer.rollBack(until: start + .milliseconds(1_002))
        #expect(pacer[device]?.history.underWay == nil)
        #expect(pacer[device]?.history.pushes == 0)
        guard case .goes = pacer.admit(match(2), of: device, account, pace, at: start + .milliseconds(3)) else {
            Issue.record("a push that failed left a cooldown")
            return
        }
    }

    @Test func outcomeOfANonBlockingDeliveryIsIgnored() {
        var pacer = Pacer()
        pacer.notice(start)
        _ = pacer.admit(match(1), of: device, account, pace, at: start)
        pacer.release("a", to: device, at: start)
        pacer.commit()
        pacer.stopBlocking("a", of: device, at: start + .milliseconds(1))
        let before = pacer[device]
        #expect(before?.history.underWay == nil && before?.history.pushes == 0 && before?.history.unblocked == 1)
        pacer.end("a", of: device, counts: true, at: start + .milliseconds(2))
        pacer.stopBlocking("a", of: device, at: start + .milliseconds(2))
        #expect(pacer[device] == before)
    }

    @Test func movedDeviceDoesNotWaitForItsFormerPlaceEvenIfTheDiskFails() {
        var pacer = Pacer()
        pacer.notice(start)
        _ = pacer.admit(match(1), of: device, account, pace, at: start)
        pacer.release("a", to: device, at: start)
        pacer.commit()
        _ = pacer.admit(match(2), of: device, account, pace, at: start + .milliseconds(1))
        pacer.move(device)
        pacer.rollBack(until: start + .milliseconds(1_001))
        #expect(
            pacer[device]?.history.underWay == nil && pacer[device]?.history.pushes == 0 && pacer[device]?.groups == []
        )
        #expect(pacer.uncommitted.isTouched)
        #expect(pacer.changes.map(\.pace.history.underWay) == [nil])
        pacer.commit()
        #expect(!pacer.uncommitted.isTouched)
        // Moving a device without a delivery in progress changes nothing.
        pacer.move(device)
        pacer.move(DeviceID(rawValue: 8))
        #expect(!pacer.uncommitted.isTouched)
    }

    @Test func endsOfOtherDeliveriesAreIgnored() {
        var pacer = Pacer()
        pacer.notice(start)
        _ = pacer.admit(match(1), of: device, account, pace, at: start)
        pacer.release("a", to: device, at: start)
        pacer.commit()
        pacer.end("b", of: device, counts: true, at: start)
        pacer.end("a", of: DeviceID(rawValue: 8), counts: true, at: start)
        #expect(pacer[device]?.history.underWay == "a")
        #expect(pacer.places.count == 1)
    }

    @Test func changedPreferencesApplyImmediately() {
        var pacer = held()
        pacer.reconsider(device)
        #expect(pacer.takeDue(at: start + .milliseconds(5)) { _, _ in pace } == [])
        #expect(pacer.nextDue == start + .minutes(1))
        pacer.reconsider(device)
        #expect(pacer.takeDue(at: start + .milliseconds(5)) { _, _ in Pace(cooldown: .milliseconds(3)) }.count == 1)
    }

    @Test func changedBoundsApplyToAllImmediately() {
        var pacer = held()
        pacer.reconsiderAll()
        #expect(pacer.takeDue(at: start + .milliseconds(5)) { _, _ in Pace() }.count == 1)
    }

    @Test func goneDeviceDropsItsGroups() {
        var pacer = held()
        pacer.forget(device)
        #expect(Array(pacer.uncommitted.forgotten.keys) == [device])
        #expect(pacer.uncommitted.isTouched)
        #expect(pacer.waitingDevices == 0)
        #expect(pacer.takeDue(at: .distantFuture) { _, _ in pace } == [])
        pacer.rollBack(until: start)
        #expect(Array(pacer.uncommitted.forgotten.keys) == [device])
        pacer.commit()
        #expect(pacer.uncommitted.forgotten.isEmpty)
    }

    @Test func deregisteredDeviceIsForgottenWhenItsTimeComes() {
        var pacer = held()
        #expect(pacer.takeDue(at: start + .minutes(1)) { _, _ in nil } == [])
        #expect(Array(pacer.uncommitted.forgotten.keys) == [device])
        #expect(pacer.places.count == 0)
    }

    @Test func groupHasItsLeastStrictModeAndHighestUrgency() {
        var pacer = Pacer()
        _ = pacer.admit(match(1), of: device, account, pace, at: start)
        pacer.release("a", to: device, at: start)
        _ = pacer.admit(match(2, mode: .wake), of: device, account, pace, at: start)
        _ = pacer.admit(match(3, mode: .sealed, urgency: .high), of: device, account, pace, at: start)
        _ = pacer.admit(match(4, mode: .nudge, urgency: .low), of: device, account, pace, at: start)
        let group = pacer[device]?.groups.first
        #expect(group?.mode == .sealed)
        #expect(group?.urgency == .high)
        #expect(group?.event == EventID(Bytes32(repeating: 2)))
    }

    @Test func releasesPerCallAreLimited() {
        var pacer = Pacer()
        for number in 1...10 as ClosedRange<Int64> {
            let device = DeviceID(rawValue: number)
            _ = pacer.admit(match(), of: device, account, pace, at: start)
            pacer.release("a", to: device, at: start)
            pacer.end("a", of: device, counts: true, at: start)
            _ = pacer.admit(match(), of: device, account, pace, at: start)
        }
        pacer.commit()
        #expect(pacer.takeDue(at: start + .minutes(1), limit: 4) { _, _ in pace }.count == 4)
        #expect(pacer.nextDue == start + .minutes(1))
        #expect(pacer.takeDue(at: start + .minutes(1)) { _, _ in pace }.count == 6)
    }

    @Test func timersThatChangeOftenDoNotPileUp() {
        var pacer = held()
        for extra in 1...20_000 {
            pacer.reconsider(device)
            #expect(
                pacer.takeDue(at: start + .milliseconds(2)) { _, _ in Pace(cooldown: .minutes(1) + .milliseconds(extra))
                }.isEmpty
            )
        }
        #expect(pacer.timerCount < 3000)
    }

    @Test func idleDevicesAreForgottenOnceADay() {
        var pacer = Pacer()
        pacer.notice(start)
        for number in 1...5 as ClosedRange<Int64> {
            let device = DeviceID(rawValue: number)
            _ = pacer.admit(match(), of: device, account, pace, at: start)
            pacer.release("a", to: device, at: start)
            if number > 1 { pacer.end("a", of: device, counts: true, at: start) }
        }
        _ = pacer.admit(match(), of: DeviceID(rawValue: 2), account, pace, at: start)
        pacer.commit()
        pacer.notice(start + PushHistory.day)
        #expect(pacer.places.count == 5)
        pacer.notice(start + PushHistory.day * 2)
        // One device has a delivery in progress, and one has a waiting event.
        #expect(pacer.places.count == 2)
    }

    @Test(arguments: [
        (BatchPreferences(), Pace(cooldown: .minutes(1), window: .seconds(30), dailyCap: 100)),
        (
            BatchPreferences(window: .zero, cooldown: .zero, dailyCap: 1000),
            Pace(cooldown: .seconds(5), dailyCap: 200)
        ),
        (
            BatchPreferences(window: .seconds(90), cooldown: .seconds(7), dailyCap: 9),
            Pace(cooldown: .seconds(7), window: .seconds(90), dailyCap: 9)
        ),
    ])
    func preferencesAreClampedToTheBounds(preferences: BatchPreferences, pace: Pace) {
        let policy = PacingPolicy(leastCooldown: .seconds(5), maxDailyCap: 200)
        #expect(policy.pace(for: PacePreferences(batch: preferences), on: "test") == pace)
    }

    @Test func operatorCanDisableAllPacing() {
        let policy = PacingPolicy(cooldown: .zero, window: .zero, dailyCap: 0, maxDailyCap: 0)
        #expect(policy.pace(for: PacePreferences(), on: "test").isUnlimited)
        #expect(policy.pace(for: PacePreferences(batch: BatchPreferences(dailyCap: 5)), on: "test").dailyCap == 5)
        #expect(
            !policy.pace(for: PacePreferences(batch: BatchPreferences(cooldown: .seconds(1))), on: "test").isUnlimited
        )
    }
}
