import NIOCore

extension EventLoop {
    /// The loop's monotonic clock, in milliseconds.
    var milliseconds: Int64 { now.milliseconds }
}

extension NIODeadline {
    var milliseconds: Int64 { Int64(uptimeNanoseconds / 1_000_000) }
}
