import Core
import JSON
import Push

/// A point in time that depends on the notification. It is `now`, an offset such as `+4h`, `-30m` or `2d`, or
/// `{{event.created_at}}` or a tag of the event with an optional offset after it.
struct MomentTemplate: Sendable {
    static let expectation =
        "expected UNIX seconds, 'now', a distance from now such as +4h, -30m or 2d, or {{event.created_at}}"

    /// The same as a regular expression, for the JSON Schema.
    static let pattern =
        #"^((now|\{\{ *event\.(created_at|tag\.[0-9A-Za-z_-]{1,32}(\.[1-9])?) *\}\})([+-]"#
        + "\(Duration.writtenPattern))?|[+-]?\(Duration.writtenPattern))$"

    private enum Base: Sendable {
        case now
        case variable(Template)
    }

    private let base: Base
    private let distance: Duration
    let form: MomentSpelling

    /// Nil if the text has another form.
    init?(_ text: String, form: MomentSpelling) {
        var rest = text[...]
        if rest.hasPrefix("{{"), let end = rest.firstRange(of: "}}")?.upperBound {
            let variable = String(rest[..<end])
            guard NumericVariable.isWhole(variable), let template = try? Template(variable),
                template.variables.allSatisfy(Self.isTimestampVariable)
            else { return nil }
            base = .variable(template)
            rest = rest[end...]
        } else {
            base = .now
            if rest.hasPrefix("now") { rest = rest.dropFirst(3) } else if rest.isEmpty { return nil }
        }
        if rest.isEmpty {
            distance = .zero
        } else {
            let isNegative = rest.hasPrefix("-")
            let isSigned = isNegative || rest.hasPrefix("+")
            // A text `2d` means `+2d`; after a base it needs a sign.
            guard isSigned || rest.count == text.count,
                let span = Duration(written: isSigned ? rest.dropFirst() : rest)
            else { return nil }
            distance = isNegative ? .zero - span : span
        }
        self.form = form
    }

    private static func isTimestampVariable(_ variable: String) -> Bool {
        variable == "event.created_at" || variable.hasPrefix(TemplateVariable.tagPrefix)
    }

    var variables: Set<String> {
        switch base {
        case .now: []
        case .variable(let template): template.variables
        }
    }

    /// Returns nil before 1970, after the year 9999, or if the time is unknown.
    func render(_ values: TemplateValues, now: Timestamp) -> Timestamp? {
        let start: Timestamp
        switch base {
        case .now:
            guard now > .epoch else { return nil }
            start = now
        case .variable(let template):
            guard let seconds = Int64(template.render(values)), seconds >= 0 else { return nil }
            start = Timestamp(seconds: seconds)
        }
        let moment = start + distance
        return MomentSpelling.range.contains(moment) ? moment : nil
    }
}

/// Variables that are or may be numbers. A template may be one of them if a block expects a number.
enum NumericVariable {
    /// In addition, any tag of the event and any field of JSON content may hold a number.
    static let names = ["event.kind", "event.created_at", "referenced.kind", "zap.amount", "count"]
    /// Functions that take and return numbers.
    private static let functions = ["sats", "round"]
    private static let namePattern = "[0-9A-Za-z_-]{1,32}"

    /// ``isWhole(_:)`` as a regular expression, for the JSON Schema.
    static var pattern: String {
        let escaped = names.map { $0.split(separator: ".").joined(separator: #"\."#) }
        let made = [
            #"event\.tag\."# + namePattern + #"(\.[1-9])?"#, #"event\.json(\."# + namePattern + "){1,8}",
            #"count\(event\.tags\."# + namePattern + #"\)"#,
        ]
        return #"^\{\{ *(("# + functions.joined(separator: "|") + #")\()*("#
            + (escaped + made).joined(separator: "|") + #")\)* *\}\}$"#
    }

    /// Whether `text` is exactly one numeric variable such as `{{count}}`, or one inside numeric functions.
    static func isWhole(_ text: some StringProtocol) -> Bool {
        guard text.hasPrefix("{{"), text.hasSuffix("}}"), text.utf8.count > 4 else { return false }
        let words = text.dropFirst(2).dropLast(2).split(separator: " ")
        guard words.count == 1 else { return false }
        var name = String(words[0])
        while let function = functions.first(where: { name.hasPrefix($0 + "(") }), name.hasSuffix(")") {
            name = String(name.dropFirst(function.count + 1).dropLast())
        }
        return names.contains(name) || name.hasPrefix(TemplateVariable.tagPrefix)
            || name.hasPrefix(TemplateVariable.fieldPrefix) || name.hasPrefix("count(" + TemplateVariable.listPrefix)
    }

    /// The integer in `text`; nil if it has another form or does not fit an `Int`.
    static func whole(_ text: String) -> Int? {
        guard let number = number(text) else { return nil }
        // A Double cannot hold every integer beyond 2^53.
        return Int(text) ?? Int(exactly: number)
    }

    /// The number in `text`, written as digits with at most one point; nil for other texts.
    static func number(_ text: String) -> Double? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 24, (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return nil }
        return Double(text)
    }
}

extension FlagSpelling {
    func append(_ flag: Bool, to json: inout JSONText) {
        switch self {
        case .bool: json.append(flag)
        case .oneOrZero: json.append(flag ? 1 : 0)
        case .yesOrNo: json.appendQuoted(flag ? "yes" : "no")
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

    /// Writes a point in time within ``range``.
    func append(_ moment: Timestamp, to json: inout JSONText) {
        switch self {
        case .unixSeconds: json.append(moment.seconds)
        case .unixMilliseconds: json.append(moment.milliseconds)
        case .rfc3339: json.appendQuoted(Self.rfc3339(seconds: moment.seconds))
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

    /// The date of a day, counted from 1970. Years start in March here, so that leap days come last.
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
    static let pattern = "^(\(Duration.writtenPattern)|" + #"[0-9]{1,9}\.[0-9]{1,3}s)$"#

    /// Returns the error in a duration, if any.
    func mistake(in span: Duration, limit: Duration) -> String? {
        guard (.zero...limit).contains(span) else { return "expected a time of at most \(limit.seconds) seconds" }
        if self == .seconds, span.milliseconds % 1000 != 0 { return "expected whole seconds" }
        return nil
    }

    func append(_ span: Duration, to json: inout JSONText) {
        switch self {
        case .seconds: json.append(span.seconds)
        case .protobuf: json.appendQuoted("\(Self.decimal(span.milliseconds))s")
        }
    }

    /// Seconds, with only as many decimals as needed.
    private static func decimal(_ milliseconds: Int64) -> String {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        guard rest > 0 else { return String(seconds) }
        var digits = String(rest + 1000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(seconds).\(digits)"
    }

    /// Reads `4h` as well as Protocol Buffers' `3.5s`.
    static func read(_ text: String) -> Duration? {
        if let span = Duration(written: text) { return span }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard text.last == "s", parts.count == 2, (1...3).contains(parts[1].count),
            parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }), (1...9).contains(parts[0].count),
            let seconds = Int64(parts[0]),
            let rest = Int64(parts[1] + String(repeating: "0", count: 3 - parts[1].count))
        else { return nil }
        return .milliseconds(seconds * 1000 + rest)
    }
}
