import Feed

/// Lets the router hear that a feed after which it is to stop has ended.
struct FeedEnd: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// Any thread.
    func come() {
        continuation.finish()
    }

    /// Returns when it has come, or when the task is cancelled.
    func wait() async {
        for await _ in stream {}
    }
}
