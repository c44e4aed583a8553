import Testing

@testable import Registry

struct UTCOffsetTests {
    @Test(arguments: [
        ("Z", 0), ("UTC", 0), ("UTC+9", 540), ("UTC+09", 540), ("UTC-03:30", -210), ("+05:45", 345), ("-12", -720),
        ("UTC+14:00", 840), ("+0", 0), ("-00:30", -30),
    ])
    func readsOffsets(text: String, minutes: Int) {
        #expect(UTCOffset(text)?.minutes == minutes)
    }

    @Test(arguments: [
        "", "9", "UTC9", "utc+9", "+", "UTC+", "+14:01", "-12:01", "+100", "+5:4", "+5:60", "+5:045", "++5", "+-5",
        "+5:-1",
        "+5:45:00", "GMT+1", "Europe/Berlin", "+٥", " +5", "+5 ",
    ])
    func otherOffsetsAreRefused(text: String) {
        #expect(UTCOffset(text) == nil)
    }
}
