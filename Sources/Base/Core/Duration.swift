extension Duration {
    @inlinable public static func minutes(_ count: some BinaryInteger) -> Duration { .seconds(60) * count }
    @inlinable public static func hours(_ count: some BinaryInteger) -> Duration { .seconds(3_600) * count }
    /// Days of 24 hours.
    @inlinable public static func days(_ count: some BinaryInteger) -> Duration { .seconds(86_400) * count }

    /// Whole milliseconds, rounded toward zero; saturates.
    @inlinable public var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.saturating(times: 1_000).saturating(adding: attoseconds / 1_000_000_000_000_000)
    }

    /// Whole seconds, rounded toward zero.
    @inlinable public var seconds: Int64 { components.seconds }
}

/// A number of bytes, used for sizes and limits.
@frozen public struct ByteCount: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let bytes: Int

    @inlinable public init(_ bytes: Int) { self.bytes = bytes }

    @inlinable public static func kibibytes(_ count: Int) -> ByteCount { ByteCount(count << 10) }
    @inlinable public static func mebibytes(_ count: Int) -> ByteCount { ByteCount(count << 20) }

    public var description: String { String(bytes) }

    @inlinable public static func < (one: ByteCount, other: ByteCount) -> Bool { one.bytes < other.bytes }
}
