import Testing
import Units

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

    @Test func `the system's clocks move on`() {
        #expect(Timestamp.now() > Timestamp(seconds: 1_770_000_000))
        let before = Deadline.now()
        #expect(Deadline.now() >= before)
        #expect(ByteCount.kibibytes(64).bytes == 65_536 && ByteCount.mebibytes(1) > .kibibytes(1_023))
    }
}
