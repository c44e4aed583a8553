import Pipeline
import Registry
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct HoldWordsTests {
    @Test(
        arguments: [
            (540, "quiet hours until 07:00 (UTC+9)"), (0, "quiet hours until 07:00 (UTC)"),
            (-210, "quiet hours until 07:00 (UTC-03:30)"), (345, "quiet hours until 07:00 (UTC+05:45)"),
        ]
    )
    func quietHoursNameTheirEndOnTheDevicesClock(_ offset: Int, _ words: String) throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay("22:00")),
            end: try #require(TimeOfDay("07:00")),
            offset: try #require(UTCOffset(minutes: offset))
        )
        #expect(HoldWords.words(.quiet, quiet) == words)
    }

    @Test(arguments: [
        ("Europe/Berlin", "quiet hours until 07:00 (Europe/Berlin)"),
        ("Europe/Atlantis", "quiet hours until 07:00 (Europe/Atlantis, which is not known: UTC)"),
    ])
    func aZoneIsCalledByItsName(_ name: String, _ words: String) throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay("22:00")),
            end: try #require(TimeOfDay("07:00")),
            zone: .named(try #require(NamedZone.named(name)))
        )
        #expect(HoldWords.words(.quiet, quiet) == words)
    }

    @Test(arguments: HoldReason.allCases) func everyReasonHasAText(_ reason: HoldReason) {
        #expect(HoldWords.words(reason, nil).contains(" "))
    }
}
