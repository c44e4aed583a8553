import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import CarillonRouter

struct LowPriorityLoopsTests {
    /// Returns the niceness of the calling thread; on Linux each thread has one.
    @Sendable private static func niceness() -> Int32 { getpriority(Int32(PRIO_PROCESS.rawValue), 0) }

    @Test func onlyLowPriorityLoopsLowerTheirThreadPriority() async throws {
        let other = MultiThreadedEventLoopGroup.singleton.next()
        let before = try await other.submit(Self.niceness).get()
        let loops = LowPriorityLoops()
        for loop in [loops.api, loops.stream] {
            let (niceness, policy) = try await loop.submit { (Self.niceness(), sched_getscheduler(0)) }.get()
            #expect(niceness == min(19, before + 10))
            // SCHED_BATCH
            #expect(policy == 3)
        }
        let after = try await other.submit(Self.niceness).get()
        #expect(after == before)
        try await loops.stop()
    }
}
