import Testing
import Units

@testable import Pipeline

/// How large portions are, by how long each waits for the disk. One event takes 10 µs of work here.
@Suite struct PortionSizeTests {
    private var size = PortionSize(least: 512)

    /// So many whole portions, each of which waits for the disk for so long.
    private mutating func take(_ portions: Int, waiting wait: Duration) {
        for _ in 0..<portions {
            size.took(.microseconds(10 * size.events) + wait, waiting: wait, for: size.events)
        }
    }

    @Test mutating func aQuickDiskLeavesThemSmall() {
        take(100, waiting: .microseconds(200))
        #expect(size.events == 512)
        // Between the two limits nothing changes either.
        take(100, waiting: .microseconds(800))
        #expect(size.events == 512)
    }

    @Test mutating func aSlowDiskMakesThemGrowUntilItsShareIsSmall() {
        take(4, waiting: .milliseconds(10))
        #expect(size.events == 1_024)
        take(100, waiting: .milliseconds(10))
        // 41 ms of work for 10 ms of waiting.
        #expect(size.events == 4_096)
        take(100, waiting: .milliseconds(10))
        #expect(size.events == 4_096)
        take(100, waiting: .seconds(1))
        #expect(size.events == 8_192)
    }

    @Test mutating func theyShrinkWhenTheDiskIsQuickAgain() {
        take(100, waiting: .milliseconds(10))
        take(3, waiting: .microseconds(200))
        #expect(size.events == 4_096)
        take(1, waiting: .microseconds(200))
        #expect(size.events == 2_048)
        take(100, waiting: .microseconds(200))
        #expect(size.events == 512)
    }

    /// A size that was left for being too small is not come back to at once.
    @Test(arguments: [1, 2, 3, 5, 7, 9, 12, 16, 20, 30]) func theyDoNotSwing(milliseconds: Int) {
        var tests = self
        tests.take(100, waiting: .milliseconds(milliseconds))
        let settled = tests.size.events
        for _ in 0..<50 {
            tests.take(1, waiting: .milliseconds(milliseconds))
            #expect(tests.size.events == settled)
        }
    }

    @Test mutating func whatHappensNowAndThenDoesNotCount() {
        for _ in 0..<50 {
            take(3, waiting: .milliseconds(50))
            take(1, waiting: .microseconds(200))
        }
        #expect(size.events == 512)
    }

    @Test mutating func aPortionThatIsNotWholeSaysNothing() {
        for _ in 0..<50 { size.took(.milliseconds(11), waiting: .milliseconds(10), for: 100) }
        #expect(size.events == 512)
        for _ in 0..<50 { size.took(.zero, waiting: .zero, for: 512) }
        #expect(size.events == 512)
    }

    @Test func whatWaitsIsWhatNoWorkWasDoneIn() {
        let clock = Reading()
        let watch = WaitWatch(time: { clock.time }, work: { clock.work })
        let waited = watch.waiting {
            clock.time += .milliseconds(12)
            clock.work += .milliseconds(2)
        }
        #expect(waited == .milliseconds(10))
        // Two clocks may disagree a little.
        #expect(watch.waiting { clock.work += .microseconds(1) } == .zero)
    }

    /// Of one test's thread alone.
    private final class Reading: @unchecked Sendable {
        var time = Duration.seconds(7)
        var work = Duration.zero
    }
}
