import Logging
import Synchronization
import Testing

@testable import CarillonRouter

struct ExpensivePatternsTests {
    @Test func newPatternsAreReportedOnce() {
        var patterns = ExpensivePatterns()
        #expect(patterns.newCounts(in: [:]).isEmpty)
        #expect(patterns.newCounts(in: ["b": 2, "a": 1]).map(\.rule) == ["a", "b"])
        #expect(patterns.newCounts(in: ["b": 2, "a": 1]).isEmpty)
        let new = patterns.newCounts(in: ["b": 5, "a": 1])
        #expect(new.map(\.rule) == ["b"])
        #expect(new.map(\.count) == [3])
    }

    @Test func patternsAreCheckedOncePerPause() async {
        let looks = Mutex<UInt64>(0)
        let pauses = Mutex(0)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        await ExpensivePatterns.watch(
            {
                looks.withLock {
                    $0 += 1
                    return ["rule": $0]
                }
            },
            logger: logger,
            pause: {
                let isOver = pauses.withLock {
                    $0 += 1
                    return $0 > 3
                }
                if isOver { throw CancellationError() }
            }
        )
        #expect(looks.withLock { $0 } == 3)
    }
}
