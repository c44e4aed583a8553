import Console
import Foundation
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct ProcessFiguresTests {
    @Test func processFiguresAreReported() {
        let figures = ProcessFigures.current
        #expect(figures.cpuSeconds > 0 && figures.residentBytes > 1 << 20)
        #expect(figures.virtualBytes >= figures.residentBytes)
        #expect(figures.openFiles > 2 && figures.maxFiles >= figures.openFiles)
        #expect(figures.startedAt > 1_700_000_000 && figures.startedAt < Date().timeIntervalSince1970 + 1)
    }

    @Test func startTimeIsFoundForAnyProcessName() {
        let fields = (1...30).map { "\($0 * 100)" }.joined(separator: " ")
        let start = ProcessFigures.startedAt(stat: "17 (a ) (b) c) \(fields)", bootedAt: 1_000)
        #expect(start == 1_000 + 2_000 / Double(sysconf(Int32(_SC_CLK_TCK))))
        #expect(ProcessFigures.startedAt(stat: "", bootedAt: 1_000) == 0)
    }
}
