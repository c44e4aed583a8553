/// How a push service wants a length of time.
enum SpanForm: Sendable {
    /// Text as Protocol Buffers have it in JSON, `3.5s`, of at most so many milliseconds.
    case protobuf(limit: Int64)
    /// A whole number of seconds, of at most so many milliseconds.
    case seconds(limit: Int64)

    static let expectation = "expected a time such as 30s, 15m, 4h or 2d"

    /// The same as a regular expression, for the JSON Schema.
    static let pattern = "^(\(TimeSpan.pattern)|" + #"[0-9]{1,9}\.[0-9]{1,3}s)$"#

    private var limit: Int64 {
        switch self {
        case .protobuf(let limit), .seconds(let limit): limit
        }
    }

    /// What is wrong with a length of `milliseconds`, if anything.
    func mistake(in milliseconds: Int64) -> String? {
        guard (0...limit).contains(milliseconds) else { return "expected a time of at most \(limit / 1000) seconds" }
        if case .seconds = self, milliseconds % 1000 != 0 { return "expected whole seconds" }
        return nil
    }

    func append(_ milliseconds: Int64, to json: inout RenderedJSON) {
        switch self {
        case .seconds: json.append(milliseconds / 1000)
        case .protobuf: json.append(quoted: "\(Self.seconds(milliseconds))s")
        }
    }

    /// With as many digits behind the point as it takes.
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
