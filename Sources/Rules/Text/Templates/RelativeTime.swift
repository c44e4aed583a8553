import Notifications

/// How long ago something was, in one number.
enum RelativeTime {
    /// The units, each with the seconds it takes, the largest first.
    private static let units: [(seconds: Int64, short: String)] = [
        (31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3600, "h"), (60, "m"),
    ]

    /// `5m`, `3h`, `2d`, `1w`, `6mo`, `2y`; `now` for less than a minute and for what is yet to come.
    static func short(seconds: Int64) -> String {
        count(seconds).map { "\($0.count)\(units[$0.unit].short)" } ?? "now"
    }

    /// `5 minutes ago` in `language`, in English if nobody said in which, and ``short(seconds:)`` in a language that is not
    /// among ``RelativeTimeWords``.
    static func words(seconds: Int64, in language: LanguageTag?) -> String {
        let name = language?.description.prefix { $0 != "-" } ?? "en"
        guard let words = RelativeTimeWords.byLanguage[String(name)] else { return short(seconds: seconds) }
        guard let (count, unit) = count(seconds) else { return words.now }
        let (one, other) = words.units[unit]
        return words.phrase("\(count)\(words.space)\(count == 1 ? one : other)")
    }

    private static func count(_ seconds: Int64) -> (count: Int64, unit: Int)? {
        units.firstIndex { seconds >= $0.seconds }.map { (seconds / units[$0].seconds, $0) }
    }
}
