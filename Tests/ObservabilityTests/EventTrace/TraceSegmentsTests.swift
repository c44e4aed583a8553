import Core
import Push
import Testing

@testable import Observability

@Suite struct TraceSegmentsTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)

    private func fill(_ segments: inout TraceSegments, ofCrowd: Bool = false, at now: Timestamp) {
        let place = segments.makeSpace(ofCrowd: ofCrowd, at: now)
        segments.add(place.room, to: place.segment.number)
    }

    @Test func firstEntryStartsASegment() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        let place = segments.makeSpace(at: Self.noon)
        #expect(place.begins && place.room == 100 && place.dropped.isEmpty)
        segments.add(40, to: place.segment.number)
        let next = segments.makeSpace(at: Self.noon)
        #expect(!next.begins && next.room == 60 && next.segment.number == place.segment.number)
    }

    @Test func rowsStayBetweenNineTenthsAndTheLimit() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        var dropped: [Int64] = []
        for written in 1...25 {
            let place = segments.makeSpace(at: Self.noon)
            dropped += place.dropped
            segments.add(place.room, to: place.segment.number)
            let kept = segments.segments.reduce(0) { $0 + $1.rows }
            #expect(kept <= 1_000 && kept >= min(900, written * 100))
        }
        #expect(dropped == Array(1...15))
    }

    @Test func segmentsExpireAfterTheirDays() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000_000, days: 10))
        for hour in stride(from: 0, to: 24 * 40, by: 1) {
            let now = Self.noon + .hours(hour)
            segments.add(1, to: segments.makeSpace(at: now).segment.number)
            #expect(segments.segments.allSatisfy { now - $0.beganAt < .days(10) })
        }
        #expect(segments.segments.count == 10)
    }

    @Test func afterALongPauseOnlyTheNewSegmentIsLeft() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        for _ in 0..<3 { fill(&segments, at: Self.noon) }
        let place = segments.makeSpace(at: Self.noon + .days(30))
        #expect(place.begins && place.dropped == [1, 2, 3] && segments.segments.map(\.number) == [4])
    }

    @Test func expiredSegmentIsDroppedWithoutANewEntry() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        for day in [0, 3, 6] as [Int64] { fill(&segments, at: Self.noon + .days(day)) }
        #expect(segments.expire(at: Self.noon + .days(10) - .milliseconds(1)).isEmpty)
        #expect(segments.expire(at: Self.noon + .days(13)) == [1, 2])
        #expect(segments.segments.map(\.number) == [3])
        #expect(segments.expire(at: Self.noon + .days(16)) == [3])
        #expect(segments.segments.isEmpty)
        let place = segments.makeSpace(at: Self.noon + .days(16))
        #expect(place.begins && place.room == 100)
    }

    @Test func segmentsReserveCapacityForStrangers() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        let first = segments.makeSpace(at: Self.noon)
        let admitted = (0..<100).count { _ in segments.admitsStray() }
        #expect(admitted == 10)
        segments.add(first.room, to: first.segment.number)
        _ = segments.makeSpace(at: Self.noon)
        let admittedAgain = segments.admitsStray()
        #expect(admittedAgain)
    }

    @Test func clockThatJumpsBackLosesNoEntriesAndKeepsNoneForever() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        let half = segments.makeSpace(at: Self.noon)
        segments.add(half.room / 2, to: half.segment.number)
        let place = segments.makeSpace(at: Self.noon - .days(5))
        #expect(place.begins && place.dropped.isEmpty)
        // The one from the future goes by its number in the row, at the latest.
        for _ in 0..<10 { fill(&segments, at: Self.noon - .days(5)) }
        #expect(segments.segments.count == 10 && segments.segments.allSatisfy { $0.beganAt < Self.noon })
    }

    @Test func accountGetsATwentiethOfASegment() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        let first = segments.makeSpace(at: Self.noon)
        let crowded = (0..<20).map { _ in segments.belongsToCrowd(.device(DeviceID(rawValue: 1))) }
        #expect(crowded == (0..<20).map { $0 >= 5 })
        let isOtherCrowded = segments.belongsToCrowd(.device(DeviceID(rawValue: 2)))
        #expect(!isOtherCrowded)
        segments.add(first.room, to: first.segment.number)
        _ = segments.makeSpace(at: Self.noon)
        let afterwards = segments.belongsToCrowd(.device(DeviceID(rawValue: 1)))
        #expect(!afterwards)
    }

    @Test func crowdedSegmentsEvictOnlyEachOther() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000, days: 10))
        let quiet = segments.makeSpace(at: Self.noon).segment.number
        segments.add(10, to: quiet)
        for _ in 0..<50 { fill(&segments, ofCrowd: true, at: Self.noon) }
        #expect(segments.segments.map(\.number).contains(quiet))
        #expect(segments.segments.reduce(0) { $0 + $1.rows } <= 1_000)
        #expect(segments.segments.count { $0.isOfCrowd } >= 9)
        // Entries of other accounts evict those of the large account until both have the same number.
        for _ in 0..<4 {
            fill(&segments, at: Self.noon)
            #expect(segments.segments.map(\.number).contains(quiet))
        }
        for _ in 0..<4 { fill(&segments, at: Self.noon) }
        #expect(segments.segments.count { $0.isOfCrowd } == 5)
        #expect(segments.segments.reduce(0) { $0 + $1.rows } <= 1_000)
    }

    @Test func aQuietTraceKeepsBothKindsForAllItsDays() {
        var segments = TraceSegments(limits: TraceLimits(rows: 1_000_000, days: 10))
        for hour in 0..<24 * 9 {
            for kind in [false, true] {
                let place = segments.makeSpace(ofCrowd: kind, at: Self.noon + .hours(hour))
                segments.add(1, to: place.segment.number)
                #expect(place.dropped.isEmpty)
            }
        }
    }
}
