import Core
import Testing
import TimeTestSupport

@testable import Registry

struct TimeZonesTests {
    @Test func transitionAppliesFromItsSecond() throws {
        let zone = try #require(NamedZone.named("Europe/Berlin"))
        #expect(zone.isKnown)
        // 2026-03-29 01:00 and 2026-10-25 01:00 UTC, and the same in 2050.
        let changes: [(Int64, Int, Int)] = [
            (1_774_746_000, 60, 120), (1_792_890_000, 120, 60), (2_531_955_600, 60, 120), (2_550_704_400, 120, 60),
        ]
        for (change, before, after) in changes {
            #expect(zone.minutesAhead(at: Timestamp(seconds: change) - .milliseconds(1)) == before)
            #expect(zone.minutesAhead(at: Timestamp(seconds: change)) == after)
        }
    }

    @Test(arguments: [
        ("Asia/Kathmandu", 345), ("Asia/Tokyo", 540), ("UTC", 0), ("America/Argentina/Buenos_Aires", -180), ("GMT0", 0),
        ("GMT+0", 0),
        ("Etc/GMT+5", -300), ("Europe/Kiev", 120), ("Pacific/Chatham", 825),
    ])
    func namesOfTheTimeZoneDatabaseAreKnown(_ name: String, _ minutes: Int) throws {
        let zone = try #require(NamedZone.named(name))
        #expect(zone.isKnown && zone === NamedZone.named(name))
        #expect(zone.minutesAhead(at: 1_773_446_400_000) == minutes)
    }

    @Test(arguments: [
        "", "/", "Europe", "Europe/", "/Europe/Berlin", "Europe//Berlin", "../zoneinfo/Europe/Berlin",
        "Europe/../Europe/Berlin", "./UTC", "right/Europe/Berlin", "posix/Europe/Berlin", "localtime", "posixrules",
        "Europe/Berlin\0", "Europe/Berl\u{ed}n", "1st", "zone.tab", "GMT+5", "GMT+0530", "UTC+3", "europe/berlin",
        "CET-1CEST", String(repeating: "a", count: 65),
    ])
    func otherNamesAreNotKnown(_ name: String) {
        #expect(NamedZone.named(name)?.isKnown ?? false == false)
    }
}
