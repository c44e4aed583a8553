import Testing
import TimeTestSupport
import Units

@testable import Delivery

struct PauseTests {
    @Test func eachIsTwiceAsLongUpToTheLongest() {
        var pause = Pause.Length(first: .seconds(5), longest: .minutes(15))
        let lengths = (0..<10).map { _ in pause.next() }
        #expect(lengths == [5, 10, 20, 40, 80, 160, 320, 640, 900, 900].map { .seconds($0) })
        pause.reset()
        #expect(pause.next() == .seconds(5))
    }

    @Test func theFirstIsNeverLongerThanTheLongest() {
        var pause = Pause.Length(first: .seconds(5), longest: .milliseconds(100))
        #expect(pause.next() == .milliseconds(100))
        #expect(pause.next() == .milliseconds(100))
    }
}
