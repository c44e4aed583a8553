import Foundation
import Testing

@testable import APNsTransport

struct CalendarDateTests {
    @Test(
        arguments: [
            (0, "1970-01-01"), (-1, "1969-12-31"), (951_782_399, "2000-02-28"), (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"), (4_107_542_400, "2100-03-01"), (253_402_300_799, "9999-12-31"),
        ] as [(Int64, String)]
    )
    func namesTheDay(_ seconds: Int64, _ text: String) {
        #expect(CalendarDate.text(seconds) == text)
    }

    @Test func foundationNamesTheSame() throws {
        let style = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
        for seconds in stride(from: -5_000_000_000 as Int64, to: 200_000_000_000, by: 987_654_321) {
            #expect(CalendarDate.text(seconds) == Date(timeIntervalSince1970: Double(seconds)).formatted(style))
        }
    }
}
