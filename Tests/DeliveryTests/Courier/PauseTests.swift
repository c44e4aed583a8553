import Testing

@testable import Delivery

struct PauseTests {
    @Test func eachIsTwiceAsLongUpToTheLongest() {
        var pause = Pause.Length(first: 5_000, longest: 900_000)
        let lengths = (0..<10).map { _ in pause.next() / 1_000 }
        #expect(lengths == [5, 10, 20, 40, 80, 160, 320, 640, 900, 900])
        pause.reset()
        #expect(pause.next() == 5_000)
    }

    @Test func theFirstIsNeverLongerThanTheLongest() {
        var pause = Pause.Length(first: 5_000, longest: 100)
        #expect(pause.next() == 100)
        #expect(pause.next() == 100)
    }
}
