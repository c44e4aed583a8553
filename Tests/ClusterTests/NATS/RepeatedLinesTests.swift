import Core
import Testing
import TimeTestSupport

@testable import Cluster

struct RepeatedLinesTests {
    private var lines = RepeatedLines()

    @Test mutating func sameLineIsLoggedOnceAMinuteWithACount() {
        #expect(lines.admit("a is gone", now: 0) == 0)
        for now in Int64(1)...9 { #expect(lines.admit("a is gone", now: Deadline(milliseconds: now * 1_000)) == nil) }
        #expect(lines.admit("b is gone", now: 10_000) == 0)
        #expect(lines.admit("a is gone", now: 60_000) == 9)
        #expect(lines.admit("a is gone", now: 60_001) == nil)
    }

    @Test mutating func linesThatAlwaysDifferAreLimitedToo() {
        let first = (0..<1_000).count { lines.admit("\($0)", now: 0) != nil }
        #expect(first == 16)
        #expect(lines.admit("later", now: 60_000) == 0)
    }
}
