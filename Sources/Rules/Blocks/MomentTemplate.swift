import Platforms

/// A moment that is another one for every notification: `now`, as far from now as `+4h`, `-30m` or `2d` says, or
/// `{{event.created_at}}` or a tag of the event, which may have such a distance behind them, too.
struct MomentTemplate: Sendable {
    static let expectation =
        "expected UNIX seconds, 'now', a distance from now such as +4h, -30m or 2d, or {{event.created_at}}"

    /// What is read here as a regular expression, for the JSON Schema.
    static let pattern =
        #"^((now|\{\{ *event\.(created_at|tag\.[0-9A-Za-z_-]{1,32}(\.[1-9])?) *\}\})([+-]"#
        + "\(TimeSpan.pattern))?|[+-]?\(TimeSpan.pattern))$"

    private enum Base: Sendable {
        case now
        case variable(Template)
    }

    private let base: Base
    /// In milliseconds.
    private let distance: Int64
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
            distance = 0
        } else {
            let isNegative = rest.hasPrefix("-")
            let isSigned = isNegative || rest.hasPrefix("+")
            // `2d` alone is as good as `+2d`; behind something else it would be two things in a row.
            guard isSigned || rest.count == text.count,
                let span = TimeSpan.milliseconds(isSigned ? rest.dropFirst() : rest)
            else { return nil }
            distance = isNegative ? -span : span
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

    /// Milliseconds since 1970; nil when that is before 1970 or after the year 9999, or nobody knows what time it is.
    func render(_ values: TemplateValues, now: Int64) -> Int64? {
        let start: Int64
        switch base {
        case .now:
            guard now > 0 else { return nil }
            start = now
        case .variable(let template):
            guard let seconds = Int64(template.render(values)), MomentSpelling.range.contains(seconds) else {
                return nil
            }
            start = seconds * 1000
        }
        let (moment, overflow) = start.addingReportingOverflow(distance)
        return !overflow && MomentSpelling.range.contains(moment) ? moment : nil
    }
}
