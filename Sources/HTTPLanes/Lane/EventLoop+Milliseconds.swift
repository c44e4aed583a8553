import NIOCore

extension EventLoop {
    /// The loop's monotonic clock, in milliseconds.
    package var milliseconds: Int64 { now.milliseconds }
}

extension NIODeadline {
    /// On the same clock as every event loop's.
    package var milliseconds: Int64 { Int64(uptimeNanoseconds / 1_000_000) }
}
