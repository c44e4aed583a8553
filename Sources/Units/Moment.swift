/// What ``Timestamp`` and ``Deadline`` have in common: a point on a clock, in whole milliseconds.
///
/// Its description is the number of milliseconds. Arithmetic saturates at both ends, so that a date or a span from
/// outside cannot overflow.
public protocol Moment: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Milliseconds since the clock's beginning.
    var milliseconds: Int64 { get }

    init(milliseconds: Int64)
}

extension Moment {
    /// Later than everything: never.
    @inlinable public static var distantFuture: Self { Self(milliseconds: .max) }
    /// Earlier than everything.
    @inlinable public static var distantPast: Self { Self(milliseconds: .min) }

    public var description: String { String(milliseconds) }

    @inlinable public static func < (one: Self, other: Self) -> Bool { one.milliseconds < other.milliseconds }

    /// The distant future and the distant past stay where they are.
    @inlinable public static func + (moment: Self, span: Duration) -> Self {
        moment.milliseconds == .max || moment.milliseconds == .min
            ? moment : Self(milliseconds: moment.milliseconds.saturating(adding: span.milliseconds))
    }

    @inlinable public static func - (moment: Self, span: Duration) -> Self { moment + (.zero - span) }

    @inlinable public static func += (moment: inout Self, span: Duration) { moment = moment + span }

    @inlinable public static func -= (moment: inout Self, span: Duration) { moment = moment - span }

    /// How long after `other` this moment is; negative if it is before.
    @inlinable public static func - (moment: Self, other: Self) -> Duration {
        .milliseconds(moment.milliseconds.saturating(subtracting: other.milliseconds))
    }
}

extension Int64 {
    @inlinable func saturating(adding other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    @inlinable func saturating(subtracting other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    @inlinable func saturating(times factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? ((self < 0) == (factor < 0) ? .max : .min) : product
    }
}
