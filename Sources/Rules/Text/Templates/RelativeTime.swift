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

    /// `5 minutes ago` in `language` (English if unknown); ``short(seconds:)`` in a language that ``RelativeTimeWords``
    /// lacks.
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

/// A language's words for how long ago something was.
struct RelativeTimeWords: Sendable {
    /// For less than a minute.
    let now: String
    private let before: String
    private let after: String
    /// Between number and unit.
    let space: String
    /// One and several of them, in the order of ``RelativeTime``: years, months, weeks, days, hours, minutes.
    let units: [(one: String, other: String)]

    private init(
        now: String,
        before: String = "",
        after: String = "",
        space: String = " ",
        _ units: [(one: String, other: String)]
    ) {
        self.now = now
        self.before = before
        self.after = after
        self.space = space
        self.units = units
    }

    func phrase(_ amount: String) -> String { before + amount + after }

    /// By the language's name, regions left out.
    static let byLanguage: [String: RelativeTimeWords] = [
        "de": RelativeTimeWords(
            now: "gerade eben",
            before: "vor ",
            [
                ("Jahr", "Jahren"), ("Monat", "Monaten"), ("Woche", "Wochen"), ("Tag", "Tagen"), ("Stunde", "Stunden"),
                ("Minute", "Minuten"),
            ]
        ),
        "en": RelativeTimeWords(
            now: "just now",
            after: " ago",
            [
                ("year", "years"), ("month", "months"), ("week", "weeks"), ("day", "days"), ("hour", "hours"),
                ("minute", "minutes"),
            ]
        ),
        "es": RelativeTimeWords(
            now: "ahora mismo",
            before: "hace ",
            [
                ("año", "años"), ("mes", "meses"), ("semana", "semanas"), ("día", "días"), ("hora", "horas"),
                ("minuto", "minutos"),
            ]
        ),
        "fr": RelativeTimeWords(
            now: "à l’instant",
            before: "il y a ",
            [
                ("an", "ans"), ("mois", "mois"), ("semaine", "semaines"), ("jour", "jours"), ("heure", "heures"),
                ("minute", "minutes"),
            ]
        ),
        "it": RelativeTimeWords(
            now: "proprio ora",
            after: " fa",
            [
                ("anno", "anni"), ("mese", "mesi"), ("settimana", "settimane"), ("giorno", "giorni"), ("ora", "ore"),
                ("minuto", "minuti"),
            ]
        ),
        "ja": RelativeTimeWords(
            now: "たった今",
            after: "前",
            space: "",
            [("年", "年"), ("か月", "か月"), ("週間", "週間"), ("日", "日"), ("時間", "時間"), ("分", "分")]
        ),
        "nl": RelativeTimeWords(
            now: "zojuist",
            after: " geleden",
            [
                ("jaar", "jaar"), ("maand", "maanden"), ("week", "weken"), ("dag", "dagen"), ("uur", "uur"),
                ("minuut", "minuten"),
            ]
        ),
        "pt": RelativeTimeWords(
            now: "agora mesmo",
            before: "há ",
            [
                ("ano", "anos"), ("mês", "meses"), ("semana", "semanas"), ("dia", "dias"), ("hora", "horas"),
                ("minuto", "minutos"),
            ]
        ),
    ]
}
