/// A length of time as people write it: `30s`, `90m`, `4h`, `2d`, `1w`, or several in a row, `1h30m`.
enum TimeSpan {
    /// The same as a regular expression, for the JSON Schema.
    static let pattern = "([0-9]{1,9}[smhdw])+"

    /// In milliseconds; nil for what is no such text, or is longer than a hundred years.
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
