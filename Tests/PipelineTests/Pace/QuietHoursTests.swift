import Core
import Foundation
import Registry
import Testing
import TimeTestSupport

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
    private static let midnight = Timestamp(seconds: 1_773_446_400)

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
    func quietHoursEndByTheWallClock(_ test: Case) throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay(test.start)),
            end: try #require(TimeOfDay(test.end)),
            offset: try #require(UTCOffset(test.offset))
        )
        func moment(_ time: (Int64, Int64)) -> Timestamp { Self.midnight + .minutes(time.0 * 60 + time.1) }
        #expect(quiet.end(at: moment(test.moment)) == test.quietUntil.map(moment))
        // The minute counts, not its seconds.
        #expect(quiet.end(at: moment(test.moment) + .milliseconds(59_999)) == test.quietUntil.map(moment))
    }

    @Test func quietHoursWorkBeforeTheEpoch() throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay("23:00")),
            end: try #require(TimeOfDay("01:00")),
            offset: try #require(UTCOffset("Z"))
        )
        #expect(quiet.end(at: -1) == 3_600_000)
        #expect(quiet.end(at: -3_600_001) == nil)
    }

    struct ChangeCase: Sendable, CustomTestStringConvertible {
        let zone: String
        let start: String
        let end: String
        let moment: String
        let quietUntil: String?

        var testDescription: String { "\(start) to \(end) in \(zone) at \(moment)" }

        init(_ zone: String, _ start: String, _ end: String, _ moment: String, _ quietUntil: String?) {
            (self.zone, self.start, self.end, self.moment, self.quietUntil) = (zone, start, end, moment, quietUntil)
        }
    }

    static let nightsOfChange: [ChangeCase] = [
        // Berlin's clocks go from 02:00 to 03:00 at 01:00 UTC: a night of seven hours.
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-03-28T21:59", nil),
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-03-28T22:00", "2026-03-29T05:00"),
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-03-29T04:59", "2026-03-29T05:00"),
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-03-29T05:00", nil),
        // No clock shows 02:30: quiet hours end or start at the moment when the clock skips it.
        ChangeCase("Europe/Berlin", "22:00", "02:30", "2026-03-28T23:00", "2026-03-29T01:00"),
        ChangeCase("Europe/Berlin", "02:30", "04:00", "2026-03-29T00:59", nil),
        ChangeCase("Europe/Berlin", "02:30", "04:00", "2026-03-29T01:00", "2026-03-29T02:00"),
        // They go from 03:00 back to 02:00 at 01:00 UTC: a night of nine hours.
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-10-24T20:59", nil),
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-10-24T21:00", "2026-10-25T06:00"),
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-10-25T05:59", "2026-10-25T06:00"),
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-10-25T06:00", nil),
        // Clocks show 02:30 twice.
        ChangeCase("Europe/Berlin", "23:00", "02:30", "2026-10-24T22:00", "2026-10-25T00:30"),
        ChangeCase("Europe/Berlin", "23:00", "02:30", "2026-10-25T00:45", nil),
        ChangeCase("Europe/Berlin", "23:00", "02:30", "2026-10-25T01:00", "2026-10-25T01:30"),
        ChangeCase("Europe/Berlin", "02:30", "04:00", "2026-10-25T00:30", "2026-10-25T01:00"),
        ChangeCase("Europe/Berlin", "02:30", "04:00", "2026-10-25T01:30", "2026-10-25T03:00"),
        // The days around them.
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-03-27T22:00", "2026-03-28T06:00"),
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2026-03-29T21:00", "2026-03-30T05:00"),
        // A year that only the rule at the end of the file covers.
        ChangeCase("Europe/Berlin", "23:00", "07:00", "2061-03-26T22:00", "2061-03-27T05:00"),
        ChangeCase("America/New_York", "23:00", "07:00", "2026-03-08T04:00", "2026-03-08T11:00"),
        ChangeCase("America/New_York", "23:00", "07:00", "2026-11-01T03:00", "2026-11-01T12:00"),
        // Half an hour, and in the south.
        ChangeCase("Australia/Lord_Howe", "23:00", "07:00", "2026-04-04T12:00", "2026-04-04T20:30"),
        ChangeCase("Australia/Lord_Howe", "23:00", "07:00", "2026-10-03T12:30", "2026-10-03T20:00"),
        ChangeCase("Asia/Kathmandu", "23:00", "07:00", "2026-03-14T17:15", "2026-03-15T01:15"),
    ]

    private static func time(_ text: String) throws -> Timestamp {
        Timestamp(seconds: Int64(try Date("\(text):00Z", strategy: .iso8601).timeIntervalSince1970))
    }

    @Test(arguments: nightsOfChange)
    func quietHoursFollowDaylightSaving(_ test: ChangeCase) throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay(test.start)),
            end: try #require(TimeOfDay(test.end)),
            zone: .named(try #require(NamedZone.named(test.zone)))
        )
        #expect(quiet.end(at: try Self.time(test.moment)) == (try test.quietUntil.map(Self.time)))
    }

    @Test(arguments: ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "America/Santiago", "Europe/Dublin"])
    func quietHoursFollowTheDevicesClock(_ name: String) throws {
        let zone = try #require(TimeZone(identifier: name))
        let quiet = QuietHours(
            start: try #require(TimeOfDay("22:45")),
            end: try #require(TimeOfDay("06:15")),
            zone: .named(try #require(NamedZone.named(name)))
        )
        var isQuiet: [Bool] = []
        let start = try Self.time("2026-01-01T00:00")
        for minute in stride(from: Int64(0), to: 366 * 1440, by: 5) {
            let moment = start + .minutes(minute)
            let ahead = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment.seconds)))
            let local = ((moment.seconds / 60 + Int64(ahead / 60)) % 1440 + 1440) % 1440
            isQuiet.append(local >= 22 * 60 + 45 || local < 6 * 60 + 15)
        }
        for index in isQuiet.indices {
            let moment = start + .minutes(5 * index)
            guard let end = quiet.end(at: moment) else {
                #expect(!isQuiet[index], "\(moment)")
                continue
            }
            let next = Int((end - start).milliseconds / 300_000)
            #expect(isQuiet[index], "\(moment)")
            guard next < isQuiet.count else { break }
            #expect(!isQuiet[next] && isQuiet[index..<next].allSatisfy(\.self), "\(moment)")
        }
    }
}
