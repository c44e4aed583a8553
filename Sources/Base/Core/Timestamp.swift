import Glibc

/// A moment of the wall clock, in whole milliseconds since 1970 (UTC, without leap seconds).
///
/// Wall clocks jump: use ``Deadline`` to measure or wait for a duration.
@frozen public struct Timestamp: Moment {
    /// Milliseconds since 1970.
    public let milliseconds: Int64

    /// `milliseconds` since 1970.
    @inlinable public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// `seconds` since 1970, the unit of Nostr (NIP-01) and of JWTs (RFC 7519).
    @inlinable public init(seconds: Int64) { milliseconds = seconds.saturating(times: 1_000) }

    /// The start of 1970.
    @inlinable public static var epoch: Timestamp { Timestamp(milliseconds: 0) }

    /// Returns the system's time.
    @Sendable public static func now() -> Timestamp { Timestamp(milliseconds: reading(of: CLOCK_REALTIME)) }

    /// Whole seconds since 1970, rounded down.
    @inlinable public var seconds: Int64 { milliseconds < 0 ? ~(~milliseconds / 1_000) : milliseconds / 1_000 }
}

/// A moment of the monotonic clock, which corrections of the time do not affect. Used for timeouts.
@frozen public struct Deadline: Moment {
    /// Milliseconds since the clock's start, which differs for each boot of the machine.
    public let milliseconds: Int64

    @inlinable public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Returns the time of the system's monotonic clock.
    @Sendable public static func now() -> Deadline { Deadline(milliseconds: reading(of: CLOCK_MONOTONIC)) }

    /// Returns the time of the last timer interrupt, up to 10 ms ago, at a tenth of the cost.
    public static func nowRoughly() -> Deadline { Deadline(milliseconds: reading(of: CLOCK_MONOTONIC_COARSE)) }
}

/// Returns the milliseconds since the start of a system clock.
private func reading(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}

/// The common part of ``Timestamp`` and ``Deadline``: a point on a clock, in whole milliseconds.
///
/// Its description is the number of milliseconds. Arithmetic saturates at both ends, so that external dates and
/// durations cannot overflow.
public protocol Moment: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Milliseconds since the clock's start.
    var milliseconds: Int64 { get }

    init(milliseconds: Int64)
}

extension Moment {
    /// Later than all other moments: never.
    @inlinable public static var distantFuture: Self { Self(milliseconds: .max) }
    /// Earlier than all other moments.
    @inlinable public static var distantPast: Self { Self(milliseconds: .min) }

    public var description: String { String(milliseconds) }

    @inlinable public static func < (one: Self, other: Self) -> Bool { one.milliseconds < other.milliseconds }

    /// Adds a duration. The distant future and the distant past do not change.
    @inlinable public static func + (moment: Self, span: Duration) -> Self {
        moment.milliseconds == .max || moment.milliseconds == .min
            ? moment : Self(milliseconds: moment.milliseconds.saturating(adding: span.milliseconds))
    }

    @inlinable public static func - (moment: Self, span: Duration) -> Self { moment + (.zero - span) }

    @inlinable public static func += (moment: inout Self, span: Duration) { moment = moment + span }

    @inlinable public static func -= (moment: inout Self, span: Duration) { moment = moment - span }

    /// Returns the duration from `other` to this moment; negative if this is earlier.
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

/// A day of the proleptic Gregorian calendar in UTC.
public struct CivilDate: Hashable, Sendable {
    public let year: Int64
    /// From 1 to 12.
    public let month: Int64
    /// From 1 to 31.
    public let day: Int64

    /// `month` is from 1 to 12, and `day` a day of that month.
    public init(year: Int64, month: Int64, day: Int64) {
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Howard Hinnant, "chrono-compatible low-level date algorithms": years start in March, so that the leap day is
    /// last, and are grouped in eras of 400 years.
    public init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The day of a moment.
    public init(_ moment: Timestamp) { self.init(daysSince1970: moment.daysSince1970) }

    /// Negative before 1970. The year must not be negative.
    public var daysSince1970: Int64 {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }

    /// `2026-11-22` (RFC 3339, full-date).
    public var text: String { "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))" }
}

extension Timestamp {
    /// Whole days since 1970, rounded down.
    public var daysSince1970: Int64 { (seconds - secondOfDay) / 86_400 }

    /// From 0 to 86,399.
    public var secondOfDay: Int64 { (seconds % 86_400 + 86_400) % 86_400 }

    /// The time of the day in UTC: `07:00:00`.
    public var clock: String {
        let second = secondOfDay
        return "\(digits(second / 3_600, 2)):\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2))"
    }

    /// `2026-11-22T07:00:00.125Z` (RFC 3339).
    public var rfc3339: String { "\(CivilDate(self).text)T\(clock).\(digits(milliseconds - seconds * 1_000, 3))Z" }
}

private func digits(_ number: Int64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
}

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
