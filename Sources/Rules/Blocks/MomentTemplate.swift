import Platforms
import Units

/// A moment that depends on the notification: `now`, a distance from now such as `+4h`, `-30m` or `2d`, or
/// `{{event.created_at}}` or a tag of the event, perhaps with such a distance behind it.
struct MomentTemplate: Sendable {
    static let expectation =
        "expected UNIX seconds, 'now', a distance from now such as +4h, -30m or 2d, or {{event.created_at}}"

    /// The same as a regular expression, for the JSON Schema.
    static let pattern =
        #"^((now|\{\{ *event\.(created_at|tag\.[0-9A-Za-z_-]{1,32}(\.[1-9])?) *\}\})([+-]"#
        + "\(TimeSpan.pattern))?|[+-]?\(TimeSpan.pattern))$"

    private enum Base: Sendable {
        case now
        case variable(Template)
    }

    private let base: Base
    private let distance: Duration
    let form: MomentSpelling

    /// Nil for what is no such text.
    init?(_ text: String, form: MomentSpelling) {
        var rest = text[...]
        if rest.hasPrefix("{{"), let end = rest.firstRange(of: "}}")?.upperBound {
            let variable = String(rest[..<end])
            guard NumericVariable.isWhole(variable), let template = try? Template(variable),
                template.variables.allSatisfy(Self.mayBeMoment)
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
            // `2d` alone means `+2d`; behind something else it needs a sign.
            guard isSigned || rest.count == text.count,
                let span = TimeSpan.read(isSigned ? rest.dropFirst() : rest)
            else { return nil }
            distance = isNegative ? .zero - span : span
        }
        self.form = form
    }

    private static func mayBeMoment(_ variable: String) -> Bool {
        variable == "event.created_at" || variable.hasPrefix(TemplateVariable.tagPrefix)
    }

    var variables: Set<String> {
        switch base {
        case .now: []
        case .variable(let template): template.variables
        }
    }

    /// Nil before 1970, after the year 9999, or if the time is unknown.
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

/// The variables that are or may be numbers: a template may be one of them where a block wants a number.
enum NumericVariable {
    /// Any tag of the event and any field of JSON content may hold a number, too.
    static let names = ["event.kind", "event.created_at", "referenced.kind", "zap.amount", "count"]
    /// Functions from numbers to numbers.
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

    /// Whether `text` is one numeric variable and nothing else, as in `{{count}}`, perhaps inside numeric functions.
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

    /// The whole number in `text`; nil if it is none or does not fit an `Int`.
    static func whole(_ text: String) -> Int? {
        guard let number = number(text) else { return nil }
        // Beyond 2^53 a Double is another number.
        return Int(text) ?? Int(exactly: number)
    }

    /// The number in `text`, written as digits with at most one point; nil for everything else.
    static func number(_ text: String) -> Double? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 24, (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return nil }
        return Double(text)
    }
}
