import Core
import Delivery
import DeliveryTestSupport
import Nostr
import Push
import Registry
import Testing
import TimeTestSupport

@testable import Pipeline

/// The operator's forecast of a device's pacing.
@Suite struct PaceForecastTests {
    private let now = Timestamp(seconds: 1_773_489_600)
    private let today: Int32 = 20_526
    private let device = DeviceID(rawValue: 1)

    private func forecast(
        _ row: PaceRow?,
        _ preferences: PacePreferences = PacePreferences(),
        _ policy: PacingPolicy = PacingPolicy(dailyCap: 3)
    ) -> PaceForecast {
        PaceForecast(row, [], pace: policy.pace(for: preferences, on: ""), at: now)
    }

    private func expect(_ forecast: PaceForecast, _ reason: HoldReason?, until: Timestamp? = nil, pushes: Int = 0) {
        #expect(forecast.next.reason == reason)
        #expect(forecast.next.at == until)
        #expect(forecast.pushesToday == pushes)
    }

    @Test func forecastOfANewDevice() {
        expect(forecast(nil), nil)
    }

    @Test func forecastDuringACooldown() {
        let row = PaceRow(device: device, pushedAt: now - .seconds(20), dayOfPushes: today, pushes: 1)
        expect(forecast(row), .cooldown, until: now + .seconds(40), pushes: 1)
    }

    @Test func forecastAtTheDailyCap() {
        let row = PaceRow(device: device, pushedAt: now - .seconds(20), dayOfPushes: today, pushes: 3)
        expect(forecast(row), .cap, until: now + .hours(12), pushes: 3)
        let yesterday = PaceRow(device: device, pushedAt: now - .days(1), dayOfPushes: today - 1, pushes: 3)
        expect(forecast(yesterday), nil)
    }

    @Test func forecastWithAPushInFlight() {
        let row = PaceRow(
            device: device,
            dayOfPushes: today,
            pushes: 1,
            underWay: "d",
            releasedAt: now - .milliseconds(1)
        )
        expect(forecast(row), .underWay, pushes: 1)
    }

    @Test func forecastDuringQuietHours() throws {
        expect(forecast(nil, try quiet(lettingThrough: true)), .quiet, until: now + .hours(1))
    }

    @Test func forecastWithAFullWindow() {
        let policy = PacingPolicy(cooldown: .zero)
        let row = PaceRow(
            device: device,
            pushedAt: now - .seconds(1),
            windowStart: now - .seconds(10),
            matches: 3,
            dayOfPushes: today,
            pushes: 3
        )
        expect(forecast(row, PacePreferences(), policy), .window, until: now + .seconds(20), pushes: 3)
    }

    @Test func forecastAtTheBackgroundPushLimit() {
        let row = PaceRow(
            device: device,
            silentPushes: [now - .minutes(50), now - .seconds(2_000), now - .seconds(1_000)]
        )
        let policy = PacingPolicy(platforms: ["ios": .init(backgroundPerHour: 3)])
        func forecast(in mode: Mode, on platform: String = "ios") -> PaceForecast {
            PaceForecast(row, [], pace: policy.pace(for: PacePreferences(), on: platform), mode: mode, at: now)
        }
        expect(forecast(in: .wake), .backgroundBudget, until: now + .minutes(10))
        expect(forecast(in: .alert), nil)
        expect(forecast(in: .wake, on: "android"), nil)
    }

    private func held(_ slot: UInt8, isMessage: Bool, hasOverflowed: Bool = false, _ count: UInt32 = 1) -> HeldRow {
        HeldRow(
            key: HeldKey(device: device, slot: slot),
            account: [UInt8](repeating: 1, count: 32),
            event: [UInt8](repeating: slot, count: 32),
            isMessage: isMessage,
            hasOverflowed: hasOverflowed,
            signal: isMessage ? .dm : .mention,
            mode: .wake,
            urgency: .normal,
            count: count,
            since: now - .seconds(1),
            expiresAt: 0
        )
    }

    private func quiet(lettingThrough: Bool) throws -> PacePreferences {
        let quiet = QuietHours(
            start: try #require(TimeOfDay("11:00")),
            end: try #require(TimeOfDay("13:00")),
            offset: try #require(UTCOffset("Z")),
            letsDirectMessagesThrough: lettingThrough
        )
        return PacePreferences(quiet: quiet)
    }

    @Test func directMessagesThatBypassQuietHoursHaveTheirOwnTurn() throws {
        let row = PaceRow(device: device, pushedAt: now - .seconds(20), dayOfPushes: today, pushes: 1)
        let rows = [held(0, isMessage: false, 3), held(1, isMessage: true, 2)]
        let forecast = PaceForecast(
            row,
            rows,
            pace: PacingPolicy().pace(for: try quiet(lettingThrough: true), on: ""),
            at: now
        )
        #expect(forecast.held == 5 && forecast.groups.map(\.count) == [3, 2])
        #expect(forecast.groups.map(\.turn.reason) == [.quiet, .cooldown])
        #expect(forecast.groups.map(\.turn.at) == [now + .hours(1), now + .seconds(40)])
        #expect(forecast.groups.map(\.event.array) == rows.map(\.event))
        expect(forecast, .cooldown, until: now + .seconds(40), pushes: 1)
        let strict = PaceForecast(
            row,
            rows,
            pace: PacingPolicy().pace(for: try quiet(lettingThrough: false), on: ""),
            at: now
        )
        #expect(Set(strict.groups.map(\.turn.at)) == [now + .hours(1)])
    }

    @Test func deviceThatExceededItsWindowWaitsForItsEnd() throws {
        let row = PaceRow(device: device, pushedAt: now - .seconds(6), windowStart: now - .seconds(10), matches: 5)
        let rows = [held(0, isMessage: true, hasOverflowed: true), held(1, isMessage: true)]
        let policy = PacingPolicy(cooldown: .seconds(5))
        let pace = policy.pace(for: PacePreferences(), on: "")
        let forecast = PaceForecast(row, rows, pace: pace, at: now)
        #expect(forecast.groups.map(\.turn.reason) == [.window, nil])
        #expect(forecast.groups.map(\.turn.at) == [now + .seconds(20), nil])
        expect(forecast, nil)
        let later = PaceForecast(row, rows, pace: pace, at: now + .seconds(20))
        #expect(later.groups.map(\.turn.reason) == [nil, nil])
    }

    @Test func unlimitedPushesAreNotCounted() throws {
        let unlimited = PacingPolicy(cooldown: .zero, window: .zero, dailyCap: 0)
        #expect(forecast(nil, PacePreferences(), unlimited).pushesToday == nil)
        #expect(forecast(nil, try quiet(lettingThrough: true), unlimited).pushesToday == nil)
        #expect(forecast(nil).pushesToday == 0)
    }
}
