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

extension Duration {
    /// A regular expression for JSON Schemas that matches the texts of ``init(written:)``.
    public static let writtenPattern = "([0-9]{1,9}[smhdw])+"

    /// Reads a duration as people write it: `30s`, `90m`, `4h`, `2d`, `1w`, or several together, such as `1h30m`.
    ///
    /// Returns nil for other texts, and for more than a hundred years.
    public init?(written text: some StringProtocol) {
        var rest = Substring(text)
        var total: Duration = .zero
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard (1...9).contains(digits.count), let number = Int64(digits),
                let unit = rest.dropFirst(digits.count).first,
                let length = Self.writtenUnits[unit]
            else { return nil }
            total += length * number
            guard total <= .days(36_525) else { return nil }
            rest = rest.dropFirst(digits.count + 1)
        }
        self = total
    }

    private static let writtenUnits: [Character: Duration] = [
        "s": .seconds(1), "m": .minutes(1), "h": .hours(1), "d": .days(1), "w": .days(7),
    ]
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
