import NIOCore
import NIOPosix
import Synchronization
import Testing
import Units

@testable import Console

struct LoopRestTests {
    private static let start = Deadline(milliseconds: 1_000)

    /// Notes `count` requests, one each millisecond. Returns how many were told that many came before.
    private func note(_ count: Int, _ pace: inout RequestPace, from: Deadline) -> Int {
        (0..<count).count { pace.note(at: from + .milliseconds(Int64($0))) }
    }

    @Test func aWindowWithManyRequestsMakesTheNextOnesRest() {
        var pace = RequestPace()
        #expect(note(20, &pace, from: Self.start) == 0)
        #expect(note(20, &pace, from: Self.start + .milliseconds(20)) == 20)
    }

    @Test func fewRequestsAreReadAtOnce() {
        var pace = RequestPace()
        for window in 0..<3 as Range<Int64> {
            #expect(note(RequestPace.many - 1, &pace, from: Self.start + .milliseconds(20 * window)) == 0)
        }
    }

    @Test func afterAPauseNothingOfBeforeCounts() {
        var pace = RequestPace()
        #expect(note(20, &pace, from: Self.start) == 0)
        #expect(note(1, &pace, from: Self.start + .milliseconds(40)) == 0)
        // Nor does what came alone after it.
        #expect(note(1, &pace, from: Self.start + .milliseconds(61)) == 0)
    }

    @Test func requestsThatAreReadTogetherRestOnce() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let time = Mutex(Self.start)
        let rests = Mutex<[Duration]>([])
        let rest = LoopRest(
            loop,
            now: { time.withLock(\.self) },
            sleep: { span in rests.withLock { $0.append(span) } }
        )
        for _ in 0..<RequestPace.many { rest.note() }
        try await loop.submit {}.get()
        #expect(rests.withLock(\.self).isEmpty)
        time.withLock { $0 = Self.start + RequestPace.window }
        for turn in 1...2 {
            // Read in one turn of the loop.
            try await loop.submit { for _ in 0..<5 { rest.note() } }.get()
            try await loop.submit {}.get()
            #expect(rests.withLock(\.self) == Array(repeating: .milliseconds(4), count: turn))
        }
    }
}
