import Foundation
import Push

/// Formats how long ago an event happened, as one number with a unit.
enum RelativeTime {
    /// The units with their lengths in seconds, the largest first.
    private static let units: [(seconds: Int64, short: String)] = [
        (31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3600, "h"), (60, "m"),
    ]

    /// Returns `5m`, `3h`, `2d`, `1w`, `6mo`, `2y`. Returns `now` for less than a minute and for the future.
    static func short(seconds: Int64) -> String {
        count(seconds).map { "\($0.count)\(units[$0.unit].short)" } ?? "now"
    }

    /// Returns `5 minutes ago` in `language` (default: English), or ``short(seconds:)`` in a language that
    /// ``RelativeTimeWords`` lacks.
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

/// The words of a language for relative times.
struct RelativeTimeWords: Sendable {
    /// The text for less than a minute.
    let now: String
    private let before: String
    private let after: String
    /// The text between number and unit.
    let space: String
    /// Singular and plural in the order of ``RelativeTime``: years, months, weeks, days, hours, minutes.
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

    /// By the language's name, without region.
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

/// An exact decimal number for computations in texts.
struct DecimalNumber: Equatable {
    /// The maximum number of digits before and after the point, which `Decimal` can hold too.
    private static let limit = 38
    /// The default for the maximum number of decimals.
    private static let usualFraction = 6

    private var isNegative: Bool
    /// Without leading zeros; empty for 0.
    private var whole: [UInt8]
    /// Without trailing zeros.
    private var fraction: [UInt8]

    /// Reads digits with at most one point, an optional minus and an optional exponent; nil for other texts.
    init?(_ text: some StringProtocol) {
        var rest = Array(text.utf8)[...]
        guard rest.count <= 2 * Self.limit else { return nil }
        isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        whole = Self.takeDigits(&rest)
        fraction = []
        guard !whole.isEmpty else { return nil }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = Self.takeDigits(&rest)
            guard !fraction.isEmpty else { return nil }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            let sign = rest.first
            if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { rest.removeFirst() }
            let digits = Self.takeDigits(&rest)
            guard (1...3).contains(digits.count) else { return nil }
            let exponent = digits.reduce(0) { $0 * 10 + Int($1) }
            guard exponent <= Self.limit else { return nil }
            shift(sign == UInt8(ascii: "-") ? -exponent : exponent)
        }
        guard rest.isEmpty else { return nil }
        normalize()
        guard whole.count + fraction.count <= Self.limit else { return nil }
    }

    init(_ number: UInt64) {
        isNegative = false
        whole = String(number).utf8.map { $0 - 0x30 }
        fraction = []
        normalize()
    }

    /// The number divided by 1,000.
    var thousandths: DecimalNumber {
        var number = self
        number.shift(-3)
        number.normalize()
        return number
    }

    /// Returns the number rounded to `digits` decimals, half away from 0.
    func rounded(to digits: Int = 0) -> DecimalNumber {
        guard fraction.count > digits else { return self }
        var number = self
        let isUp = number.fraction[digits] >= 5
        number.fraction.removeLast(number.fraction.count - digits)
        if isUp { number.increment() }
        number.normalize()
        return number
    }

    /// The number in plain decimal form.
    var text: String {
        let digits = { (digits: [UInt8]) in String(decoding: digits.map { $0 + 0x30 }, as: UTF8.self) }
        return (isNegative ? "-" : "") + (whole.isEmpty ? "0" : digits(whole))
            + (fraction.isEmpty ? "" : "." + digits(fraction))
    }

    /// Formats the number for `language` (default: English), with that many decimals, or as many as there are if nil.
    /// Uses ICU through Foundation.
    func text(in language: LanguageTag?, fractionDigits: Int?) -> String {
        let rounded = rounded(to: fractionDigits ?? Self.usualFraction)
        guard let decimal = Decimal(string: rounded.text, locale: Locale(identifier: "en")) else { return rounded.text }
        let digits = fractionDigits ?? rounded.fraction.count
        let style = Decimal.FormatStyle(locale: Locale(identifier: language?.description ?? "en"))
        return decimal.formatted(style.precision(.fractionLength(digits)))
    }

    private static func takeDigits(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest = rest.dropFirst(digits.count)
        return digits.map { $0 - 0x30 }
    }

    /// Moves the point to the right, or to the left if `places` is negative.
    private mutating func shift(_ places: Int) {
        for _ in 0..<abs(places) {
            if places > 0 {
                whole.append(fraction.isEmpty ? 0 : fraction.removeFirst())
            } else {
                fraction.insert(whole.popLast() ?? 0, at: 0)
            }
        }
    }

    /// Adds one to the last digit.
    private mutating func increment() {
        var digits = [0] + whole + fraction
        var index = digits.count - 1
        while digits[index] == 9 {
            digits[index] = 0
            index -= 1
        }
        digits[index] += 1
        let fractionCount = fraction.count
        fraction = Array(digits.suffix(fractionCount))
        whole = Array(digits.dropLast(fractionCount))
    }

    private mutating func normalize() {
        whole = Array(whole.drop { $0 == 0 })
        while fraction.last == 0 { fraction.removeLast() }
        if whole.isEmpty, fraction.isEmpty { isNegative = false }
    }
}
