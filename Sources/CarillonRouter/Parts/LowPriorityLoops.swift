import CScheduling
import NIOCore
import NIOPosix

/// Event loops of what must not keep events waiting: the HTTP API, and those who read what happens.
///
/// Their threads have a lower priority, so that a thread which takes an event further runs at once although requests
/// keep a core busy. Where everything else takes all cores, they still have a tenth of one each. What holds something
/// that events wait for, such as the outbox's connection, does not run here.
struct LowPriorityLoops: Sendable {
    /// Steps of niceness: each gives a thread a fifth less of a core that others want.
    private static let steps: Int32 = 10

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    /// Answers requests.
    let api: any EventLoop
    /// Encodes what readers of the stream get, and may read the disk for it.
    let stream: any EventLoop

    init() {
        (api, stream) = (group.next(), group.next())
        // Where the system forbids it everything works, slower.
        for loop in [api, stream] { loop.execute { _ = carillon_yield_to_others(Self.steps) } }
    }

    func stop() async throws { try await group.shutdownGracefully() }
}
