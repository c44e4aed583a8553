import Dispatch
import Testing

@testable import Pipeline

/// By which clock it waits is for `Tests/Interop/test_clock.py` to see: nobody may set the clock of the machine that
/// tests run on.
@Suite struct MonotonicSemaphoreTests {
    private let semaphore = MonotonicSemaphore()

    @Test func aSignalThatCameBeforeEndsOneWait() {
        semaphore.signal()
        #expect(semaphore.wait(until: nil))
        #expect(!semaphore.wait(until: MonotonicTime(in: 0)))
    }

    @Test func eachSignalEndsOneWait() {
        semaphore.signal()
        semaphore.signal()
        for _ in 0..<2 { #expect(semaphore.wait(until: MonotonicTime(in: 60_000))) }
        #expect(!semaphore.wait(until: MonotonicTime(in: 0)))
    }

    @Test(arguments: [Int64.min, -1, 0, 1])
    func withoutASignalItEndsByItself(milliseconds: Int64) {
        #expect(!semaphore.wait(until: MonotonicTime(in: milliseconds)))
    }

    @Test(arguments: [nil, 60_000, .max] as [Int64?])
    func aSignalFromElsewhereWakesWhoWaits(milliseconds: Int64?) {
        for _ in 0..<100 {
            DispatchQueue.global().async { [semaphore] in semaphore.signal() }
            #expect(semaphore.wait(until: milliseconds.map { MonotonicTime(in: $0) }))
        }
    }

    @Test(arguments: [nil, 60_000] as [Int64?])
    func whatWasWrittenBeforeASignalIsSeenBehindIt(milliseconds: Int64?) {
        // For ThreadSanitizer: nothing but the semaphore stands between the block and what follows it.
        nonisolated(unsafe) var sum = 0
        for round in 1...100 {
            DispatchQueue.global().async { [semaphore] in
                sum += round
                semaphore.signal()
            }
            #expect(semaphore.wait(until: milliseconds.map { MonotonicTime(in: $0) }))
            sum += round
        }
        #expect(sum == 10_100)
    }
}
