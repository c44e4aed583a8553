import Glibc

/// A moment of the wall clock, in whole milliseconds since 1970 (UTC, leap seconds not counted).
///
/// Wall clocks jump: what measures a span or waits uses ``Deadline``.
@frozen public struct Timestamp: Moment {
    /// Milliseconds since 1970.
    public let milliseconds: Int64

    /// `milliseconds` since 1970.
    @inlinable public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// `seconds` since 1970, the unit of Nostr (NIP-01) and of JWTs (RFC 7519).
    @inlinable public init(seconds: Int64) { milliseconds = seconds.saturating(times: 1_000) }

    /// The beginning of 1970.
    @inlinable public static var epoch: Timestamp { Timestamp(milliseconds: 0) }

    /// What the system's clock shows.
    @Sendable public static func now() -> Timestamp { Timestamp(milliseconds: reading(of: CLOCK_REALTIME)) }

    /// Whole seconds since 1970, rounded down.
    @inlinable public var seconds: Int64 { milliseconds < 0 ? ~(~milliseconds / 1_000) : milliseconds / 1_000 }
}

/// A moment of the monotonic clock, which no correction of the time moves: by then something is to be done.
@frozen public struct Deadline: Moment {
    /// Milliseconds since the clock's beginning, which differs from one start of the machine to the next.
    public let milliseconds: Int64

    @inlinable public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// What the system's monotonic clock shows.
    @Sendable public static func now() -> Deadline { Deadline(milliseconds: reading(of: CLOCK_MONOTONIC)) }

    /// The same as of the last interrupt of the system's timer, up to 10 ms ago: it costs a tenth.
    public static func nowRoughly() -> Deadline { Deadline(milliseconds: reading(of: CLOCK_MONOTONIC_COARSE)) }
}

/// Milliseconds since the beginning of one of the system's clocks.
private func reading(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}
