import Platforms
import Units

/// A length of time as people write it: `30s`, `90m`, `4h`, `2d`, `1w`, or several in a row, `1h30m`.
enum TimeSpan {
    /// The same as a regular expression, for the JSON Schema.
    static let pattern = "([0-9]{1,9}[smhdw])+"

    /// Nil for other texts, and for more than a hundred years.
    static func read(_ text: some StringProtocol) -> Duration? {
        var rest = Substring(text)
        var total: Duration = .zero
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard (1...9).contains(digits.count), let number = Int64(digits),
                let unit = rest.dropFirst(digits.count).first,
                let length = units[unit]
            else { return nil }
            total += length * number
            guard total <= limit else { return nil }
            rest = rest.dropFirst(digits.count + 1)
        }
        return total
    }

    private static let units: [Character: Duration] = [
        "s": .seconds(1), "m": .minutes(1), "h": .hours(1), "d": .days(1), "w": .days(7),
    ]
    private static let limit: Duration = .days(36_525)
}

extension FlagSpelling {
    func append(_ flag: Bool, to json: inout RenderedJSON) {
        switch self {
        case .bool: json.append(flag)
        case .oneOrZero: json.append(Int64(flag ? 1 : 0))
        case .yesOrNo: json.append(quoted: flag ? "yes" : "no")
        }
    }

    var expectation: String {
        switch self {
        case .bool: "expected true or false"
        case .oneOrZero: "expected 1, 0, true or false"
        case .yesOrNo: "expected yes or no"
        }
    }
}

extension MomentSpelling {
    /// From 1970 to the end of the year 9999, the limit of RFC 3339.
    static let range: ClosedRange<Timestamp> = .epoch...Timestamp(milliseconds: 253_402_300_799_999)

    /// Writes a moment within ``range``.
    func append(_ moment: Timestamp, to json: inout RenderedJSON) {
        switch self {
        case .unixSeconds: json.append(moment.seconds)
        case .unixMilliseconds: json.append(moment.milliseconds)
        case .rfc3339: json.append(quoted: Self.rfc3339(seconds: moment.seconds))
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

extension SpanSpelling {
    static let expectation = "expected a time such as 30s, 15m, 4h or 2d"

    /// The same as a regular expression, for the JSON Schema.
    static let pattern = "^(\(TimeSpan.pattern)|" + #"[0-9]{1,9}\.[0-9]{1,3}s)$"#

    /// The mistake in a length of time, if there is one.
    func mistake(in span: Duration, limit: Duration) -> String? {
        guard (.zero...limit).contains(span) else { return "expected a time of at most \(limit.seconds) seconds" }
        if self == .seconds, span.milliseconds % 1000 != 0 { return "expected whole seconds" }
        return nil
    }

    func append(_ span: Duration, to json: inout RenderedJSON) {
        switch self {
        case .seconds: json.append(span.seconds)
        case .protobuf: json.append(quoted: "\(Self.decimal(span.milliseconds))s")
        }
    }

    /// In seconds, with only as many decimals as needed.
    private static func decimal(_ milliseconds: Int64) -> String {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        guard rest > 0 else { return String(seconds) }
        var digits = String(rest + 1000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(seconds).\(digits)"
    }

    /// Reads `4h` as well as Protocol Buffers' `3.5s`.
    static func read(_ text: String) -> Duration? {
        if let span = TimeSpan.read(text) { return span }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard text.last == "s", parts.count == 2, (1...3).contains(parts[1].count),
            parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }), (1...9).contains(parts[0].count),
            let seconds = Int64(parts[0]),
            let rest = Int64(parts[1] + String(repeating: "0", count: 3 - parts[1].count))
        else { return nil }
        return .milliseconds(seconds * 1000 + rest)
    }
}
