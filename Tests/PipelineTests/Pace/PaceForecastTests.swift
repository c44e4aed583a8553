import Delivery
import Notifications
import Registry
import Testing

@testable import Pipeline

/// What operators are told of a device's pace.
@Suite struct PaceForecastTests {
    private let now: Int64 = 1_773_489_600_000
    private let today: Int32 = 20_526
    private let device = DeviceID(rawValue: 1)

    private func forecast(
        _ row: PaceRow?,
        _ wishes: PaceWishes = PaceWishes(),
        _ policy: PacingPolicy = PacingPolicy(dailyCap: 3)
    ) -> PaceForecast {
        PaceForecast(row, [], wishes: wishes, policy: policy, at: now)
    }

    private func expect(_ forecast: PaceForecast, _ reason: HoldReason?, until: Int64? = nil, pushes: Int = 0) {
        #expect(forecast.reason == reason)
        #expect(forecast.nextPushAt == until)
        #expect(forecast.pushesToday == pushes)
    }

    @Test func ofADeviceThatWasNeverWoken() {
        expect(forecast(nil), nil)
    }

    @Test func ofOneThatWasWokenAMomentAgo() {
        let row = PaceRow(device: device, pushedAt: now - 20_000, dayOfPushes: today, pushes: 1)
        expect(forecast(row), .cooldown, until: now + 40_000, pushes: 1)
    }

    @Test func ofOneThatHadItsPushes() {
        let row = PaceRow(device: device, pushedAt: now - 20_000, dayOfPushes: today, pushes: 3)
        expect(forecast(row), .cap, until: now + 43_200_000, pushes: 3)
        let yesterday = PaceRow(device: device, pushedAt: now - 86_400_000, dayOfPushes: today - 1, pushes: 3)
        expect(forecast(yesterday), nil)
    }

    @Test func ofOneToWhichAPushIsUnderWay() {
        let row = PaceRow(device: device, dayOfPushes: today, pushes: 1, underWay: "d", releasedAt: now - 1)
        expect(forecast(row), .underWay, pushes: 1)
    }

    @Test func ofOneInItsQuietHours() throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay("11:00")),
            end: try #require(TimeOfDay("13:00")),
            offset: try #require(UTCOffset("Z"))
        )
        expect(forecast(nil, PaceWishes(quiet: quiet)), .quiet, until: now + 3_600_000)
    }

    @Test func ofOneWhoseWindowIsFull() {
        let policy = PacingPolicy(cooldownSeconds: 0)
        let row = PaceRow(
            device: device,
            pushedAt: now - 1000,
            windowStart: now - 10_000,
            matches: 3,
            dayOfPushes: today,
            pushes: 3
        )
        expect(forecast(row, PaceWishes(), policy), .window, until: now + 20_000, pushes: 3)
    }
}
