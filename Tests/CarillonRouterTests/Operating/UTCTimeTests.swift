import Core
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations

@Suite struct UTCTimeTests {
    /// Compared with Python's datetime.
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_773_446_400_000, "2026-03-14T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (1_795_314_062_125, "2026-11-22T02:21:02.125Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Timestamp, String)]
    )
    func timestampHasItsDate(_ moment: Timestamp, _ stamp: String) {
        #expect(moment.rfc3339 == stamp)
    }

    @Test func readableTimeHasNoFractions() {
        #expect(Timestamp(milliseconds: 1_795_314_062_125).words == "2026-11-22 02:21:02 UTC")
    }
}
