import Units

/// Spans of time as operators write them: a number and a unit, as in `90s`, `10m`, `12h` or `30d`.
package enum SpanWords {
    package static let expected = "a time, as in 90s, 10m, 12h or 30d"

    /// Nil where it is none, or longer than a hundred years.
    package static func span(_ text: String) -> Duration? {
        guard let unit = text.last, let number = Int64(text.dropLast()), number >= 0, !text.hasPrefix("+") else {
            return nil
        }
        let seconds: Int64
        switch unit {
        case "s": seconds = 1
        case "m": seconds = 60
        case "h": seconds = 3_600
        case "d": seconds = 86_400
        default: return nil
        }
        guard number <= 36_500 * 86_400 / seconds else { return nil }
        return .seconds(number * seconds)
    }
}
