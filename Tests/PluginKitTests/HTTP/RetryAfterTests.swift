import Core
import Foundation
import Testing
import TimeTestSupport

@testable import PluginKit

struct RetryAfterTests {
    private let now: Timestamp = 784_111_777_000  // Sun, 06 Nov 1994 08:49:37 GMT

    @Test(
        arguments: [
            ("0", 0), ("120", 120_000), (" 7\t", 7000), ("4294968", UInt32.max), ("99999999999999999999", UInt32.max),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10_000), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Tue, 06 Dec 2994 08:00:00 GMT", UInt32.max),
            ("", 0), ("-5", 0), ("+5", 0), ("1.5", 0), ("soon", 0), ("Sunday, 06-Nov-94 08:49:37 GMT", 0),
            ("Sun, 6 Nov 1994 08:49:47 GMT", 0), ("Sun, 06 Nov 1994 24:49:47 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:47 CET", 0),
            ("Sun, 06 Nox 1994 08:49:47 GMT", 0), ("Sun, 99 Nov 1994 08:49:47 GMT", 0), ("٣", 0),
        ] as [(String, UInt32)]
    )
    func readsSecondsAndDates(_ value: String, _ expected: UInt32) {
        #expect(RetryAfter.span(value, now: now) == .milliseconds(Int64(expected)))
    }

    @Test func datesMatchFoundation() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for seconds in stride(from: 0 as Int64, to: 8_000_000_000, by: 39_916_801) {
            let text = formatter.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
            #expect(HTTPDate.moment(text) == Timestamp(seconds: seconds), "\(text)")
        }
    }
}
