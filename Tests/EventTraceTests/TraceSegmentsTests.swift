import Testing

@testable import EventTrace

@Suite struct TraceSegmentsTests {
    private static let day: Int64 = 86_400_000
    private static let noon: Int64 = 1_773_446_400_000

    @Test func theFirstEntryBeginsASegment() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        let place = segments.makeRoom(at: Self.noon)
        #expect(place.begins && place.room == 100 && place.dropped.isEmpty)
        segments.add(40)
        let next = segments.makeRoom(at: Self.noon)
        #expect(!next.begins && next.room == 60 && next.segment.number == place.segment.number)
    }

    @Test func keepsNoMoreThanItsRowsAndNoFewerThanNineTenths() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        var dropped: [Int64] = []
        for written in 1...25 {
            let place = segments.makeRoom(at: Self.noon)
            dropped += place.dropped
            segments.add(place.room)
            let kept = segments.segments.reduce(0) { $0 + $1.rows }
            #expect(kept <= 1_000 && kept >= min(900, written * 100))
        }
        #expect(dropped == Array(1...15))
    }

    @Test func keepsNothingLongerThanItsDays() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000_000, days: 10))
        for hour in stride(from: 0, to: 24 * 40, by: 1) {
            let now = Self.noon + Int64(hour) * 3_600_000
            _ = segments.makeRoom(at: now)
            segments.add(1)
            #expect(segments.segments.allSatisfy { now - $0.beganAt < 10 * Self.day })
        }
        #expect(segments.segments.count == 10)
    }

    @Test func afterALongPauseOnlyTheNewSegmentIsLeft() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        for _ in 0..<3 { segments.add(segments.makeRoom(at: Self.noon).room) }
        let place = segments.makeRoom(at: Self.noon + 30 * Self.day)
        #expect(place.begins && place.dropped == [1, 2, 3] && segments.segments.map(\.number) == [4])
    }

    @Test func whatHasHadItsTimeGoesWithoutANewEntry() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        for day in [0, 3, 6] as [Int64] { segments.add(segments.makeRoom(at: Self.noon + day * Self.day).room) }
        #expect(segments.expire(at: Self.noon + 10 * Self.day - 1).isEmpty)
        #expect(segments.expire(at: Self.noon + 13 * Self.day) == [1, 2])
        #expect(segments.segments.map(\.number) == [3])
        #expect(segments.expire(at: Self.noon + 16 * Self.day) == [3])
        #expect(segments.segments.isEmpty)
        let place = segments.makeRoom(at: Self.noon + 16 * Self.day)
        #expect(place.begins && place.room == 100)
    }

    @Test func eachSegmentHasRoomForAFewStrays() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        let room = segments.makeRoom(at: Self.noon).room
        let admitted = (0..<100).count { _ in segments.admitsStray() }
        #expect(admitted == 10)
        segments.add(room)
        _ = segments.makeRoom(at: Self.noon)
        let admittedAgain = segments.admitsStray()
        #expect(admittedAgain)
    }

    @Test func aClockThatJumpsBackLosesNothingAndSticksToNothing() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        segments.add(segments.makeRoom(at: Self.noon).room / 2)
        let place = segments.makeRoom(at: Self.noon - 5 * Self.day)
        #expect(place.begins && place.dropped.isEmpty)
        // The one from the future goes by its number in the row, at the latest.
        for _ in 0..<10 { segments.add(segments.makeRoom(at: Self.noon - 5 * Self.day).room) }
        #expect(segments.segments.count == 10 && segments.segments.allSatisfy { $0.beganAt < Self.noon })
    }
}
