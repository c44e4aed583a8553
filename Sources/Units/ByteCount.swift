/// A number of bytes, where a size meets a limit.
@frozen public struct ByteCount: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let bytes: Int

    @inlinable public init(_ bytes: Int) { self.bytes = bytes }

    @inlinable public static func kibibytes(_ count: Int) -> ByteCount { ByteCount(count << 10) }
    @inlinable public static func mebibytes(_ count: Int) -> ByteCount { ByteCount(count << 20) }

    public var description: String { String(bytes) }

    @inlinable public static func < (one: ByteCount, other: ByteCount) -> Bool { one.bytes < other.bytes }
}
