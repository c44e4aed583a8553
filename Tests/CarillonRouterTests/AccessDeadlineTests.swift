import Core
import Logging
import Synchronization
import Testing
import TimeTestSupport

@testable import CarillonRouter

/// Access rules end at their time, without polling.
@Suite(.timeLimit(.minutes(1)))
struct AccessDeadlineTests {
    private struct DiskFull: Error {}

    /// Reports sleeps to the test, and ends them when the test lets the clock run.
    private final class Sleeper: Sendable {
        let slept: AsyncStream<Duration>
        private let told: AsyncStream<Duration>.Continuation
        private let clock: ManualClock

        init(_ clock: ManualClock) {
            self.clock = clock
            (slept, told) = AsyncStream.makeStream(of: Duration.self)
        }

        @Sendable func sleep(_ duration: Duration) async throws {
            try Task.checkCancellation()
            clock.advance(by: duration)
            told.yield(duration)
        }
    }

    private let clock = ManualClock()
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func sleepsUntilTheEndInPartsOfAnHour() async throws {
        let sleeper = Sleeper(clock)
        let (ended, end) = AsyncStream.makeStream(of: Timestamp.self)
        let deadline = AccessDeadline(
            end: { [clock] in end.yield(clock.now()) },
            sleep: sleeper.sleep,
            now: clock.now,
            logger: logger
        )
        let next = clock.now() + .minutes(150)
        deadline.follow(next)
        #expect(await ended.first { _ in true } == next)
        var sleeps = sleeper.slept.makeAsyncIterator()
        #expect(await [sleeps.next(), sleeps.next(), sleeps.next()] == [.hours(1), .hours(1), .minutes(30)])
        deadline.stop()
    }

    @Test func triesAgainWhenTheDiskDidNotTakeIt() async throws {
        let sleeper = Sleeper(clock)
        let attempts = Mutex(0)
        let (ended, end) = AsyncStream.makeStream(of: Int.self)
        let deadline = AccessDeadline(
            end: {
                let attempt = attempts.withLock { attempts in
                    attempts += 1
                    return attempts
                }
                guard attempt == 3 else { throw DiskFull() }
                end.yield(attempt)
            },
            sleep: sleeper.sleep,
            now: clock.now,
            logger: logger
        )
        deadline.follow(clock.now())
        #expect(await ended.first { _ in true } == 3)
        var sleeps = sleeper.slept.makeAsyncIterator()
        #expect(await [sleeps.next(), sleeps.next()] == [AccessDeadline.retryPause, AccessDeadline.retryPause])
        deadline.stop()
    }

    @Test func otherRulesEndTheOldWait() async throws {
        let (began, begin) = AsyncStream.makeStream(of: Duration.self)
        let (ended, end) = AsyncStream.makeStream(of: String.self)
        let deadline = AccessDeadline(
            end: { end.yield("ended") },
            sleep: { duration in
                begin.yield(duration)
                do {
                    try await Task.sleep(for: .seconds(3600))
                } catch {
                    end.yield("cancelled")
                    throw error
                }
            },
            now: clock.now,
            logger: logger
        )
        var waits = began.makeAsyncIterator()
        var ends = ended.makeAsyncIterator()
        deadline.follow(clock.now() + .seconds(90))
        #expect(await waits.next() == .seconds(90))
        deadline.follow(nil)
        #expect(await ends.next() == "cancelled")
        deadline.follow(clock.now() + .seconds(30))
        #expect(await waits.next() == .seconds(30))
        deadline.stop()
        #expect(await ends.next() == "cancelled")
        // No wait starts after the end.
        deadline.follow(clock.now())
        end.finish()
        #expect(await ends.next() == nil)
    }
}
