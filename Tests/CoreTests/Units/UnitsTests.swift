import Core
import Foundation
import Testing

@Suite struct UnitsTests {
    @Test func `seconds round down, also before 1970`() {
        #expect(Timestamp(milliseconds: 1_999).seconds == 1)
        #expect(Timestamp(milliseconds: -1).seconds == -1)
        #expect(Timestamp(milliseconds: -1_000).seconds == -1)
        #expect(Timestamp(milliseconds: .min).seconds == -9_223_372_036_854_776)
    }

    @Test func `dates from outside saturate`() {
        #expect(Timestamp(seconds: .max) == .distantFuture)
        #expect(Timestamp(seconds: .min) == .distantPast)
        #expect(Timestamp(milliseconds: .max - 5) + .seconds(1) == .distantFuture)
        #expect(Timestamp(milliseconds: .min + 5) - .seconds(1) == .distantPast)
        #expect(Timestamp.distantFuture - .days(1) == .distantFuture)
        #expect(Timestamp.distantPast + .days(1) == .distantPast)
    }

    @Test func `moments differ by a duration`() {
        let time = Timestamp(seconds: 1_770_000_000)
        #expect(time + .minutes(2) - time == .seconds(120))
        #expect(time - (time + .hours(1)) == .seconds(-3_600))
        #expect((Timestamp.distantFuture - Timestamp.distantPast).milliseconds == .max)
        #expect((Timestamp.distantPast - Timestamp.distantFuture).milliseconds == .min)
        #expect(Deadline(milliseconds: 5) < Deadline(milliseconds: 6))
    }

    @Test func `durations count whole milliseconds`() {
        #expect(Duration.days(1).milliseconds == 86_400_000)
        #expect(Duration.microseconds(1_999).milliseconds == 1)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
        #expect(Duration.milliseconds(-1_500).seconds == -1)
    }

    @Test(
        arguments: [
            ("90s", 90), ("10m", 600), ("12h", 43_200), ("30d", 2_592_000), ("0s", 0), ("1w", 604_800),
            ("1h30m", 5_400), ("1d1d", 172_800), ("", nil), ("10", nil), ("h", nil), ("-1h", nil), ("+1h", nil),
            ("1.5h", nil), ("1h30", nil), ("1 h", nil), ("500ms", nil), ("٣h", nil), ("36525d", 3_155_760_000),
            ("36525d1s", nil), ("99999999d", nil), ("0000000001s", nil),
        ] as [(String, Int64?)]
    )
    func `durations are numbers with units`(_ text: String, _ seconds: Int64?) throws {
        #expect(Duration(written: text)?.seconds == seconds)
        let pattern = try Regex(Duration.writtenPattern)
        #expect(text.wholeMatch(of: pattern) != nil || seconds == nil)
    }

    @Test func `the system's clocks move on`() {
        #expect(Timestamp.now() > Timestamp(seconds: 1_770_000_000))
        let before = Deadline.now()
        #expect(Deadline.now() >= before)
        #expect(ByteCount.kibibytes(64).bytes == 65_536 && ByteCount.mebibytes(1) > .kibibytes(1_023))
    }
}

struct CivilDateTests {
    @Test(
        arguments: [
            (0, "1970-01-01"), (-1, "1969-12-31"), (951_782_399, "2000-02-28"), (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"), (4_107_542_400, "2100-03-01"), (253_402_300_799, "9999-12-31"),
        ] as [(Int64, String)]
    )
    func namesTheDay(_ seconds: Int64, _ text: String) {
        #expect(CivilDate(Timestamp(seconds: seconds)).text == text)
    }

    @Test func daysAreCountedBothWays() {
        for days in stride(from: Int64(-700_000), to: 3_000_000, by: 97) {
            #expect(CivilDate(daysSince1970: days).daysSince1970 == days)
        }
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_330_800_125, "2026-11-22T07:00:00.125Z"),
        ] as [(Int64, String)]
    )
    func timestampsAreWrittenAsRFC3339(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
    }

    @Test func datesMatchFoundation() throws {
        let style = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
        for seconds in stride(from: -5_000_000_000 as Int64, to: 200_000_000_000, by: 987_654_321) {
            #expect(
                CivilDate(Timestamp(seconds: seconds)).text
                    == Date(timeIntervalSince1970: Double(seconds)).formatted(style)
            )
        }
    }
}
