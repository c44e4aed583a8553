import Core
import Foundation
import GRDB
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct DeviceWishesTests {
    private static let requested = #"""
        ,"quiet":{"start":"23:15","end":"07:00","tz":"UTC-03:30","dm_bypass_quiet":true},
        "batch":{"window_seconds":0,"daily_cap":7},"filter_plugins":{"mutes":false,"web-of-trust":true}
        """#

    private func preferences(
        of account: UInt8,
        in index: borrowing MatchIndex,
        _ bench: Bench
    ) throws -> DevicePreferences {
        let device = try #require(try bench.devices(of: account, in: index).first)
        return index.preferences(of: device)
    }

    private func expected() throws -> DevicePreferences {
        DevicePreferences(
            pace: PacePreferences(
                quiet: QuietHours(
                    start: try #require(TimeOfDay("23:15")),
                    end: try #require(TimeOfDay("07:00")),
                    offset: try #require(UTCOffset(minutes: -210)),
                    letsDirectMessagesThrough: true
                ),
                batch: BatchPreferences(window: .zero, dailyCap: 7)
            ),
            filters: FilterSwitches(["mutes": false, "web-of-trust": true])
        )
    }

    @Test func indexHasPreferencesWhenLoadedAndChanged() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one", further: Self.requested)))
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("two")))
        var index = try bench.registry.load()
        #expect(try preferences(of: 1, in: index, bench) == expected())
        #expect(try preferences(of: 2, in: index, bench).isEmpty)
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one"), at: 1))
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("two", further: Self.requested), at: 1))
        bench.registry.update(&index)
        #expect(try preferences(of: 1, in: index, bench).isEmpty)
        #expect(try preferences(of: 2, in: index, bench) == expected())
        let two = try #require(try bench.devices(of: 2, in: index).first)
        _ = try bench.registry.apply(bench.event(of: 2, "", at: 2))
        var removed: [DeviceID] = []
        bench.registry.update(&index) { if case .remove(let device, _) = $0 { removed.append(device) } }
        #expect(removed == [two])
        #expect(index.preferences(of: two).isEmpty)
        #expect(index.device(two, of: try bench.key(2)) == nil)
        let reloaded = try bench.registry.load()
        #expect(try preferences(of: 1, in: reloaded, bench).isEmpty)
    }

    private static func sleeping(_ zone: String) -> String {
        Samples.phone("one", further: #","quiet":{"start":"23:15","end":"07:00","tz":"\#(zone)"}"#)
    }

    @Test func quietHoursMayNameATimeZone() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Self.sleeping("America/Argentina/Buenos_Aires")))
        var index = try bench.registry.load()
        try bench.reopen()
        for _ in 0..<2 {
            let quiet = try #require(try preferences(of: 1, in: index, bench).pace.quiet)
            #expect(quiet.zone == .named(try #require(NamedZone.named("America/Argentina/Buenos_Aires"))))
            #expect(quiet.zone.minutesAhead(at: 1_773_446_400_000) == -180)
            index = try bench.registry.load()
        }
    }

    @Test(arguments: ["Europe/Atlantis", "europe/berlin", "tzdata"])
    func anUnknownZoneIsRefused(_ zone: String) throws {
        let bench = try Bench()
        #expect(
            try bench.registry.apply(bench.event(of: 1, Self.sleeping(zone)))
                == .refused(.invalid("registration field `quiet.tz`: expected \(QuietZone.expected)"))
        )
    }

    @Test func aDeviceWithAnUnknownTimeZoneIsKept() throws {
        let zone = try #require(NamedZone.named("Europe/Atlantis"))
        let quiet = QuietHours(
            start: try #require(TimeOfDay("23:00")),
            end: try #require(TimeOfDay("07:00")),
            zone: .named(zone)
        )
        let preferences = DevicePreferences(
            pace: PacePreferences(quiet: quiet, batch: BatchPreferences(dailyCap: 3)),
            filters: FilterSwitches(["mutes": false])
        )
        let bytes = DevicePreferencesCodec.encode(preferences)
        #expect(DevicePreferencesCodec.decode(bytes) == preferences)
        #expect(!zone.isKnown && zone.minutesAhead(at: 1_773_446_400_000) == 0)
        for count in 0..<bytes.count - 6 { #expect(DevicePreferencesCodec.decode(Array(bytes.prefix(count))) == nil) }
    }

    @Test func quietHoursAreEncryptedOnDisk() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one", further: Self.requested)))
        let queue = try DatabaseQueue(path: bench.path)
        let stored = try queue.read { try Data.fetchOne($0, sql: "SELECT wishes FROM devices") }
        let plain = DevicePreferencesCodec.encode(try expected())
        #expect(try #require(stored).count > plain.count)
        #expect(try #require(stored).range(of: Data(plain[2...])) == nil)
        #expect(try #require(stored).range(of: Data("mutes".utf8)) == nil)
    }

    @Test(arguments: [
        DevicePreferences(),
        DevicePreferences(
            pace: PacePreferences(
                batch: BatchPreferences(window: .days(1), cooldown: .zero, dailyCap: 1_000_000)
            )
        ),
        DevicePreferences(pace: PacePreferences(batch: BatchPreferences(cooldown: .seconds(90)))),
        DevicePreferences(filters: FilterSwitches([String(repeating: "n", count: 64): true, "a": false])),
    ])
    func preferencesRoundTrip(preferences: DevicePreferences) {
        let bytes = DevicePreferencesCodec.encode(preferences)
        #expect(DevicePreferencesCodec.decode(bytes) == preferences)
        #expect(DevicePreferencesCodec.decode([2] + bytes.dropFirst()) == nil)
        if bytes.count > 2 { #expect(DevicePreferencesCodec.decode(Array(bytes.dropLast())) == nil) }
    }

    @Test(arguments: [
        (#""batch":{"daily_cap":0}"#, "`batch.daily_cap`: expected a whole number from 1 to 1000000"),
        (#""filter_plugins":[]"#, "`filter_plugins`: expected an object"),
        (#""filter_plugins":{"mutes":"off"}"#, "`filter_plugins.mutes`: expected true or false"),
        (
            #""filter_plugins":{"Mutes":true}"#,
            "`filter_plugins`: expected names of filters, 1 to 64 of a-z 0-9 _ -"
        ),
        (
            "\"filter_plugins\":{\((0..<17).map { "\"f\($0)\":true" }.joined(separator: ","))}",
            "`filter_plugins`: expected at most 16 filters"
        ),
    ])
    func invalidPreferenceIsRefused(json: String, expected: String) {
        #expect(throws: RegistrationError.invalid("registration field \(expected)")) {
            try RegistrationContent(Samples.phone("one", further: ",\(json)"))
        }
    }
}
