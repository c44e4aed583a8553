/// How a push service wants a moment.
enum MomentForm: Sendable {
    /// A whole number of seconds since 1970.
    case unixSeconds
    /// A whole number of milliseconds since 1970, as the web has it.
    case unixMilliseconds
    /// Text such as `2026-02-24T12:00:00Z`.
    case rfc3339

    /// From 1970 to the end of the year 9999, which is as far as RFC 3339 goes.
    static let range: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Writes what is that many `milliseconds` after 1970, within ``range``.
    func append(_ milliseconds: Int64, to json: inout RenderedJSON) {
        switch self {
        case .unixSeconds: json.append(milliseconds / 1000)
        case .unixMilliseconds: json.append(milliseconds)
        case .rfc3339: json.append(quoted: Self.rfc3339(seconds: milliseconds / 1000))
        }
    }

    private static func rfc3339(seconds: Int64) -> String {
        let (days, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = civil(days: days)
        func padded(_ number: Int64, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
            + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))Z"
    }

    /// The date of a day, counted from 1970: years begin in March here, so that leap days come last.
    private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let sinceMarch = days + 719_468
        let (era, dayOfEra) = sinceMarch.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let isNextYear = month >= 10
        return (yearOfEra + era * 400 + (isNextYear ? 1 : 0), isNextYear ? month - 9 : month + 3, day)
    }
}
