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
