import Registry
import Testing

@testable import Pipeline

@Suite struct QuietHoursTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let start: String
        let end: String
        let offset: String
        /// In UTC, hours and minutes since 2026-03-14 00:00.
        let moment: (Int64, Int64)
        let quietUntil: (Int64, Int64)?

        var testDescription: String { "\(start) to \(end) \(offset) at \(moment)" }
    }

    /// 2026-03-14 00:00 UTC.
    private static let midnight: Int64 = 1_773_446_400_000

    static let cases: [Case] = [
        Case(start: "23:00", end: "07:00", offset: "Z", moment: (22, 59), quietUntil: nil),
        Case(start: "23:00", end: "07:00", offset: "Z", moment: (23, 0), quietUntil: (31, 0)),
        Case(start: "23:00", end: "07:00", offset: "Z", moment: (24, 0), quietUntil: (31, 0)),
        Case(start: "23:00", end: "07:00", offset: "Z", moment: (6, 59), quietUntil: (7, 0)),
        Case(start: "23:00", end: "07:00", offset: "Z", moment: (7, 0), quietUntil: nil),
        Case(start: "13:00", end: "14:30", offset: "Z", moment: (12, 59), quietUntil: nil),
        Case(start: "13:00", end: "14:30", offset: "Z", moment: (14, 29), quietUntil: (14, 30)),
        Case(start: "13:00", end: "14:30", offset: "Z", moment: (14, 30), quietUntil: nil),
        // 23:00 in Tokyo is 14:00 UTC, 07:00 is 22:00.
        Case(start: "23:00", end: "07:00", offset: "UTC+9", moment: (13, 59), quietUntil: nil),
        Case(start: "23:00", end: "07:00", offset: "UTC+9", moment: (14, 0), quietUntil: (22, 0)),
        // 23:00 in Newfoundland is 02:30 UTC, 07:00 is 10:30.
        Case(start: "23:00", end: "07:00", offset: "UTC-03:30", moment: (2, 29), quietUntil: nil),
        Case(start: "23:00", end: "07:00", offset: "UTC-03:30", moment: (2, 30), quietUntil: (10, 30)),
        Case(start: "23:00", end: "07:00", offset: "UTC-03:30", moment: (26, 31), quietUntil: (34, 30)),
        // Midnight in Kathmandu is 18:15 UTC.
        Case(start: "00:00", end: "00:01", offset: "+05:45", moment: (18, 14), quietUntil: nil),
        Case(start: "00:00", end: "00:01", offset: "+05:45", moment: (18, 15), quietUntil: (18, 16)),
        Case(start: "00:01", end: "00:00", offset: "+14:00", moment: (10, 0), quietUntil: nil),
        Case(start: "00:01", end: "00:00", offset: "+14:00", moment: (10, 1), quietUntil: (34, 0)),
    ]

    @Test(arguments: cases)
    func endWhenTheWallClockSaysSo(_ test: Case) throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay(test.start)),
            end: try #require(TimeOfDay(test.end)),
            offset: try #require(UTCOffset(test.offset))
        )
        func moment(_ time: (Int64, Int64)) -> Int64 { Self.midnight + (time.0 * 60 + time.1) * 60_000 }
        #expect(quiet.end(at: moment(test.moment)) == test.quietUntil.map(moment))
        // The minute counts, not its seconds.
        #expect(quiet.end(at: moment(test.moment) + 59_999) == test.quietUntil.map(moment))
    }

    @Test func holdBeforeTheEpochToo() throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay("23:00")),
            end: try #require(TimeOfDay("01:00")),
            offset: try #require(UTCOffset("Z"))
        )
        #expect(quiet.end(at: -1) == 3_600_000)
        #expect(quiet.end(at: -3_600_001) == nil)
    }
}
