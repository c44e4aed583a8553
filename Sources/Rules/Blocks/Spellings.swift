import Platforms

/// A length of time as people write it: `30s`, `90m`, `4h`, `2d`, `1w`, or several in a row, `1h30m`.
enum TimeSpan {
    /// The same as a regular expression, for the JSON Schema.
    static let pattern = "([0-9]{1,9}[smhdw])+"

    /// In milliseconds; nil for other texts, and for more than a hundred years.
    static func milliseconds(_ text: some StringProtocol) -> Int64? {
        var rest = Substring(text)
        var total: Int64 = 0
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard (1...9).contains(digits.count), let number = Int64(digits),
                let unit = rest.dropFirst(digits.count).first,
                let length = units[unit]
            else { return nil }
            total += number * length
            guard total <= limit else { return nil }
            rest = rest.dropFirst(digits.count + 1)
        }
        return total
    }

    private static let units: [Character: Int64] = [
        "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
    ]
    private static let limit: Int64 = 36_525 * 86_400_000
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
    static let range: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Writes the moment `milliseconds` after 1970, within ``range``.
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

extension SpanSpelling {
    static let expectation = "expected a time such as 30s, 15m, 4h or 2d"

    /// The same as a regular expression, for the JSON Schema.
    static let pattern = "^(\(TimeSpan.pattern)|" + #"[0-9]{1,9}\.[0-9]{1,3}s)$"#

    /// The mistake in a length of `milliseconds`, if there is one.
    func mistake(in milliseconds: Int64, limit: Int64) -> String? {
        guard (0...limit).contains(milliseconds) else { return "expected a time of at most \(limit / 1000) seconds" }
        if self == .seconds, milliseconds % 1000 != 0 { return "expected whole seconds" }
        return nil
    }

    func append(_ milliseconds: Int64, to json: inout RenderedJSON) {
        switch self {
        case .seconds: json.append(milliseconds / 1000)
        case .protobuf: json.append(quoted: "\(Self.seconds(milliseconds))s")
        }
    }

    /// With only as many decimals as needed.
    private static func seconds(_ milliseconds: Int64) -> String {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        guard rest > 0 else { return String(seconds) }
        var digits = String(rest + 1000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(seconds).\(digits)"
    }

    /// The milliseconds of `4h` as well as of Protocol Buffers' `3.5s`.
    static func milliseconds(_ text: String) -> Int64? {
        if let span = TimeSpan.milliseconds(text) { return span }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard text.last == "s", parts.count == 2, (1...3).contains(parts[1].count),
            parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }), (1...9).contains(parts[0].count),
            let seconds = Int64(parts[0]),
            let rest = Int64(parts[1] + String(repeating: "0", count: 3 - parts[1].count))
        else { return nil }
        return seconds * 1000 + rest
    }
}
