import Foundation
import Testing
import TimeTestSupport
import Units

@testable import Registry

struct TimeZonesTests {
    private static let folder = "/usr/share/zoneinfo"

    private func file(_ name: String) throws -> [UInt8] {
        Array(try #require(FileManager.default.contents(atPath: "\(Self.folder)/\(name)")))
    }

    /// Foundation has time zones of its own, of ICU.
    @Test(arguments: [
        "Europe/Berlin", "Europe/Dublin", "Europe/Lisbon", "America/New_York", "America/St_Johns", "America/Sao_Paulo",
        "America/Santiago", "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Apia", "Asia/Kathmandu", "Asia/Tokyo",
        "Antarctica/Troll", "Africa/Johannesburg", "Asia/Jerusalem", "UTC", "America/Argentina/Buenos_Aires",
    ])
    func clocksShowWhatOthersSayTheyShow(_ name: String) throws {
        let zone = try #require(TimeZones(folder: Self.folder).zone(named: name))
        let judge = try #require(TimeZone(identifier: name))
        #expect(zone.isKnown)
        // 1975 to 2065, each time of day.
        for moment in stride(from: Int64(157_766_400), to: 2_997_993_600, by: 26_220) {
            let ahead = judge.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment)))
            #expect(zone.minutesAhead(at: Timestamp(seconds: moment)) == ahead / 60, "\(name) at \(moment)")
        }
    }

    @Test func aChangeCountsFromItsSecondOn() throws {
        let zone = try #require(TimeZones(folder: Self.folder).zone(named: "Europe/Berlin"))
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
        "", "/", "Europe", "Europe/", "/Europe/Berlin", "Europe//Berlin", "../zoneinfo/Europe/Berlin",
        "Europe/../Europe/Berlin", "./UTC", "right/Europe/Berlin", "posix/Europe/Berlin", "localtime", "posixrules",
        "Europe/Berlin\0", "Europe/Berl\u{ed}n", "1st", "zone.tab", String(repeating: "a", count: 65),
    ])
    func whatIsNoNameLeadsNowhere(_ name: String) {
        #expect(TimeZones(folder: Self.folder).zone(named: name)?.isKnown ?? false == false)
    }

    @Test func whatWasUpdatedIsReadAgain() throws {
        let folder = try TemporaryFolder()
        func put(_ name: String) throws {
            try Data(file(name)).write(to: URL(fileURLWithPath: folder.file("Capital")), options: .atomic)
        }
        let zones = TimeZones(folder: folder.file(""))
        #expect(zones.zone(named: "Capital")?.isKnown == false)
        try put("Asia/Tokyo")
        let zone = try #require(zones.zone(named: "Capital"))
        #expect(zone.minutesAhead(at: 0) == 540)
        try put("Asia/Kathmandu")
        zones.reread()
        #expect(zone.minutesAhead(at: 1_773_446_400_000) == 345)
        try FileManager.default.removeItem(atPath: folder.file("Capital"))
        zones.reread()
        #expect(zone.minutesAhead(at: 1_773_446_400_000) == 345)
    }

    @Test func aBrokenFileIsNone() throws {
        let whole = try file("Europe/Berlin")
        #expect(ZoneRules(file: whole) != nil)
        for count in 0..<whole.count { #expect(ZoneRules(file: Array(whole.prefix(count))) == nil, "\(count)") }
        // Whatever a byte says, nothing is read that is not there.
        for position in whole.indices {
            for value in [0, 0x7F, 0x80, 0xFF] as [UInt8] {
                var changed = whole
                changed[position] = value
                _ = ZoneRules(file: changed)?.secondsAhead(at: 1_773_446_400)
            }
        }
    }

    /// Of the tz database's own examples and of POSIX; the second number is in July.
    @Test(arguments: [
        ("UTC0", 0, 0), ("JST-9", 540, 540), ("<+0545>-5:45", 345, 345), ("CET-1CEST,M3.5.0,M10.5.0/3", 60, 120),
        ("EST5EDT,M3.2.0,M11.1.0", -300, -240), ("AEST-10AEDT,M10.1.0,M4.1.0/3", 660, 600),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", 0, 60), ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -120, -60),
        ("EET-2EEST,M4.5.5/0,M10.5.4/24", 120, 180), ("XXX3YYY2:30,J60,J300/26:00:30", -180, -150),
        ("XXX-3YYY,0/0,J365/25", 240, 240),
    ])
    func rulesForEachYearAreRead(_ text: String, _ winter: Int, _ summer: Int) throws {
        let rule = try #require(YearlyZoneRule(text))
        // 2051-01-15 and 2051-07-15.
        #expect(rule.secondsAhead(at: 2_557_180_800) == winter * 60)
        #expect(rule.secondsAhead(at: 2_572_819_200) == summer * 60)
    }

    @Test(arguments: [
        "", "CET", "C-1", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J300", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0,",
        "<CET-1", "CET-1,M3.5.0,M10.5.0", "CET-1:60", "CET-1CEST,M3.5.0x,M10.5.0",
    ])
    func otherRulesAreNone(_ text: String) {
        #expect(YearlyZoneRule(text) == nil)
    }
}
