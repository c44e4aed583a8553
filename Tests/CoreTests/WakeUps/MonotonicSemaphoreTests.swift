import Dispatch
import Testing

@testable import Core

/// `Tests/Interop/test_clock.py` checks which clock it uses: tests must not set the clock of the machine that they run
/// on.
@Suite struct MonotonicSemaphoreTests {
    private let semaphore = MonotonicSemaphore()

    @Test func aSignalThatCameBeforeEndsOneWait() {
        semaphore.signal()
        #expect(semaphore.wait(until: nil))
        #expect(!semaphore.wait(until: Deadline.now() + .zero))
    }

    @Test func eachSignalEndsOneWait() {
        semaphore.signal()
        semaphore.signal()
        for _ in 0..<2 { #expect(semaphore.wait(until: Deadline.now() + .minutes(1))) }
        #expect(!semaphore.wait(until: Deadline.now() + .zero))
    }

    @Test(arguments: [.milliseconds(Int64.min), .milliseconds(-1), .zero, .milliseconds(1)] as [Duration])
    func waitTimesOutWithoutASignal(within wait: Duration) {
        #expect(!semaphore.wait(until: Deadline.now() + wait))
    }

    @Test(arguments: [nil, .minutes(1), .milliseconds(Int64.max)] as [Duration?])
    func signalFromAnotherThreadEndsTheWait(within wait: Duration?) {
        for _ in 0..<100 {
            DispatchQueue.global().async { [semaphore] in semaphore.signal() }
            #expect(semaphore.wait(until: wait.map { Deadline.now() + $0 }))
        }
    }

    @Test(arguments: [nil, .minutes(1)] as [Duration?])
    func writeBeforeASignalIsVisibleAfterIt(within wait: Duration?) {
        // For ThreadSanitizer: only the semaphore separates the block from the code after it.
        nonisolated(unsafe) var sum = 0
        for round in 1...100 {
            DispatchQueue.global().async { [semaphore] in
                sum += round
                semaphore.signal()
            }
            #expect(semaphore.wait(until: wait.map { Deadline.now() + $0 }))
            sum += round
        }
        #expect(sum == 10_100)
    }
}
