import Core
import Delivery
import DeliveryTestSupport
import Foundation
import Pipeline
import Push
import Testing
import TimeTestSupport

@testable import Operations

@Suite struct StatisticsTests {
    private static let day = 20_000

    private func report(_ kind: DeliveryReport.Kind, _ platform: String, _ mode: Mode? = .wake) -> DeliveryReport {
        DeliveryReport(
            delivery: "",
            device: DeviceID(rawValue: 1),
            queue: QueueName(platform: platform, app: "default"),
            kind: kind,
            reason: "",
            attempt: 1,
            mode: mode
        )
    }

    private func figure(
        _ what: DailyFigure.Category,
        _ platform: String = "ios",
        _ mode: String = "wake"
    ) -> DailyFigure {
        DailyFigure(day: Self.day, what, platform: platform, app: "default", mode: mode)
    }

    @Test func endsAndMatchesAreCountedByDay() {
        let clock = ManualClock(Timestamp(seconds: Int64(Self.day) * 86_400 + 10))
        let counts = DailyCounts(now: clock.now)
        counts.deliveriesReported([
            report(.delivered, "ios"), report(.delivered, "ios"), report(.delivered, "web", .alert),
            report(.rejected, "ios"), report(.gone, "ios"), report(.expired, "ios"),
            // These are neither a success nor a failure, or not final.
            report(.retry, "ios"), report(.moved, "ios"), report(.requeued, "ios"), report(.discarded, "ios"),
        ])
        counts.record([.queued: 3, .batched: 1, .held: 5, .filtered: 2, .unwanted: 1, .duplicate: 9])
        counts.record([.duplicate: 9])
        let expected: [DailyFigure: Int] = [
            figure(.delivered): 2, figure(.delivered, "web", "alert"): 1, figure(.failed): 2, figure(.expired): 1,
            DailyFigure(day: Self.day, .matched): 4, DailyFigure(day: Self.day, .suppressed): 3,
        ]
        #expect(counts.pending == expected)
        #expect(counts.take() == expected)
        #expect(counts.take().isEmpty)
        counts.putBack(expected)
        clock.time += .days(1)
        counts.deliveriesReported([report(.delivered, "ios")])
        #expect(counts.take().count == expected.count + 1)
    }

    @Test func pushesAreCountedByLanguage() {
        let counts = DailyCounts(language: { $0.rawValue == 1 ? "de" : "" }, now: { 0 })
        var other = report(.delivered, "ios")
        other.device = DeviceID(rawValue: 2)
        counts.deliveriesReported([report(.delivered, "ios"), other, report(.expired, "ios"), report(.retry, "ios")])
        let rows = StatisticsReport(counts.take(), by: .language, days: 0...0).rows
        #expect(rows.map(\.name) == ["", "de"])
        #expect(rows.map(\.delivered) == [1, 1] && rows.map(\.expired) == [0, 1])
    }

    @Test func manyLanguagesDoNotFillTheTable() {
        let counts = DailyCounts(language: { "l\($0.rawValue)" }, now: { 0 })
        for number in 0..<1_000 {
            var report = report(.delivered, "ios")
            report.device = DeviceID(rawValue: Int64(number))
            counts.deliveriesReported([report])
        }
        #expect(counts.take().count == 201)
    }

    @Test func manyAppsDoNotFillTheTable() {
        let counts = DailyCounts(now: { 0 })
        for number in 0..<2_000 { counts.deliveriesReported([report(.delivered, "platform-\(number)")]) }
        let figures = counts.take()
        #expect(figures.count == 1_001)
        #expect(figures[DailyFigure(day: 0, .delivered, mode: "wake")] == 1_000)
    }

    private let figures: [DailyFigure: Int] = {
        var figures: [DailyFigure: Int] = [:]
        for (day, devices) in [(19_999, 3), (20_000, 4)] {
            figures[DailyFigure(day: day, .matched)] = 10
            figures[DailyFigure(day: day, .delivered, platform: "ios", app: "a,b", mode: "wake")] = 5
            figures[DailyFigure(day: day, .delivered, platform: "web", app: "a,b", mode: "alert")] = 1
            figures[DailyFigure(day: day, .devices, platform: "ios", app: "a,b", mode: "wake", language: "de")] =
                devices
        }
        return figures
    }()

    @Test func undividedStatisticsShowDays() {
        let report = StatisticsReport(figures, by: nil, days: 19_990...20_000)
        #expect(report.rows.map(\.day) == ["2024-10-03", "2024-10-04"])
        #expect(report.rows.map(\.delivered) == [6, 6] && report.rows.map(\.devices) == [3, 4])
        #expect(report.text.split(separator: "\n").count == 3)
        #expect(StatisticsReport(figures, by: nil, days: 20_000...20_000).rows.count == 1)
        #expect(StatisticsReport([:], by: nil, days: 20_000...20_000).text.hasPrefix("nothing was counted"))
    }

    @Test func dividedStatisticsAreSumsWithTheLatestDevices() {
        let report = StatisticsReport(figures, by: .platform, days: 19_990...20_000)
        #expect(report.rows.map(\.name) == ["", "ios", "web", "", "ios", "web"])
        let lines = report.text.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines[1] == ["-", "-", "20", "0", "0", "0", "0"])
        #expect(lines[2] == ["ios", "4", "0", "0", "10", "0", "0"])
        let languages = StatisticsReport(figures, by: .language, days: 20_000...20_000)
        #expect(languages.rows.map(\.name) == ["", "de"] && languages.rows.map(\.devices) == [nil, 4])
    }

    @Test func csvValuesAreQuotedIfNecessary() {
        let lines = StatisticsReport(figures, by: .app, days: 20_000...20_000).csv.components(separatedBy: "\r\n")
        #expect(
            lines == [
                "day,app,devices,matched,suppressed,delivered,failed,expired", "2024-10-04,,,10,0,0,0,0",
                "2024-10-04,\"a,b\",4,0,0,6,0,0",
            ]
        )
    }
}

@Suite struct QueueRequestTests {
    private let now = Timestamp(seconds: 1_773_446_400)

    private func request(_ parameters: [String: String]) throws -> QueueRequest {
        try QueueRequest(parameters, now: now)
    }

    @Test func parametersNarrowTheStatistics() throws {
        let request = try request([
            "platform": "ios", "app": "default", "device": "7", "host": "Push.Example.org", "reason": "misconfigured",
            "since": "2h", "until": "2026-03-13T23:59:00Z", "state": "failed", "limit": "5", "after": "f12",
            "id": "A-1,b-2", "dry_run": "1", "unpause": "true",
        ])
        #expect(request.selection.platform == "ios" && request.selection.app == "default")
        #expect(request.selection.device == DeviceID(rawValue: 7) && request.host == "push.example.org")
        #expect(request.selection.reason == "misconfigured" && request.selection.ids == ["a-1", "b-2"])
        #expect(request.selection.since == now - .hours(2) && request.selection.until == now - .minutes(1))
        #expect(request.selection.isFailedWanted && !request.selection.isWaitingWanted)
        #expect(request.limit == 5 && "\(request.cursor)" == "f12" && request.isDryRun && request.unpauses)
        #expect(request.isNarrow && !request.isForAll)
    }

    @Test(arguments: [
        ("since", "yesterday"), ("since", "-2h"), ("until", "2026-13-01"), ("limit", "0"), ("limit", "1001"),
        ("device", "x"), ("after", "x1"), ("after", "f-1"), ("state", "gone"), ("all", "yes"), ("colour", "red"),
    ])
    func invalidParameterIsRefusedByName(name: String, value: String) {
        #expect {
            try request([name: value])
        } throws: { error in
            (error as? OperationError)?.kind == .invalid && "\(error)".hasPrefix(name)
        }
    }

    @Test func emptySelectionDoesNotMeanAll() throws {
        #expect(throws: OperationError.self) { try request([:]).requireSelection() }
        #expect(throws: OperationError.self) { try request(["dry_run": "1", "unpause": "1"]).requireSelection() }
        for parameters in [["all": "1"], ["state": "failed"], ["id": "x"], ["since": "1d"]] {
            try request(parameters).requireSelection()
        }
        #expect(throws: OperationError.self) { try request(["since": "1h", "until": "2h"]) }
    }
}
