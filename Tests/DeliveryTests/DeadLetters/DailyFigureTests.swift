import Core
import GRDB
import Testing

@testable import Delivery

struct DailyFigureTests {
    @Test func countsAddUpAndDevicesAreRecounted() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let delivered = DailyFigure(day: 20_000, .delivered, platform: "ios", app: "default", mode: "wake")
        let (german, french) = (
            DailyFigure(day: 20_000, .devices, platform: "ios", language: "de"),
            DailyFigure(day: 20_000, .devices, platform: "ios", language: "fr")
        )
        try StatisticsStore(outbox).add([delivered: 2], replaced: [german: 3], oldest: 19_601)
        try StatisticsStore(outbox).add([delivered: 5], replaced: [french: 1], oldest: 19_601)
        let reader = OutboxReader(path: folder.path("outbox"))
        #expect(try reader.figures(since: 20_000) == [delivered: 7, french: 1])
        // It is kept across a restart.
        try folder.snapshot(of: "outbox", as: "copy")
        _ = try Outbox(path: folder.path("copy"))
        #expect(try OutboxReader(path: folder.path("copy")).figures(since: 0).count == 2)
    }

    @Test func oldDaysAreDeleted() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        for day in [19_599, 19_600, 19_601] {
            try StatisticsStore(outbox).add([DailyFigure(day: day, .matched): 1], replaced: [:], oldest: 0)
        }
        let today = DailyFigure(day: 20_000, .matched)
        try StatisticsStore(outbox).add([today: 1], replaced: [:], oldest: 19_601)
        let reader = OutboxReader(path: folder.path("outbox"))
        #expect(try reader.figures(since: 0) == [DailyFigure(day: 19_601, .matched): 1, today: 1])
        #expect(try reader.figures(since: 20_000) == [today: 1])
    }
}
