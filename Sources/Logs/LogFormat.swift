import Glibc
import JSON
import Logging
import Units

/// How lines of the log look.
package enum LogFormat: String, Sendable, CaseIterable {
    /// Fields for the journal where standard error is the journal, else text.
    case auto
    case text
    /// One JSON object a line.
    case json
    /// Native fields, to the journal's socket.
    case journald
}

/// One event of the log on its way out. Fields are in the order of their names.
struct LogRecord: Sendable {
    let at: Timestamp
    let level: Logger.Level
    let component: String
    let message: String
    let fields: [(key: String, value: String)]

    /// As text: time, level, component, message, then fields as in logfmt.
    var text: String {
        let pairs = fields.map { " \($0.key)=\(Self.quoted($0.value))" }.joined()
        return "\(LogTime(at).local) \(level) [\(component)] \(Self.onOneLine(message))\(pairs)"
    }

    /// As one JSON object.
    var json: String {
        var json = JSONText()
        json.append("{\"time\":")
        json.appendQuoted(LogTime(at).utc)
        json.append(",\"level\":")
        json.appendQuoted(level.rawValue)
        json.append(",\"component\":")
        json.appendQuoted(component)
        json.append(",\"message\":")
        json.appendQuoted(message)
        json.append(",\"fields\":{")
        for (index, field) in fields.enumerated() {
            if index > 0 { json.append(",") }
            json.appendQuoted(field.key)
            json.append(":")
            json.appendQuoted(field.value)
        }
        json.append("}}")
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// The value of a field, in quotes if it would not read as one word without them.
    private static func quoted(_ value: String) -> String {
        let text = onOneLine(value)
        let needsQuotes = text.isEmpty || text.contains { $0 == "\"" || $0 == "=" || $0 == "\\" || $0.isWhitespace }
        guard needsQuotes else { return text }
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Keeps text from outside from looking like a log line of its own.
    private static func onOneLine(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\t": result.append(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result.append(" ")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}

extension Logger.Level {
    /// As syslog and the journal number them.
    var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

/// A moment in the two spellings of logs.
private struct LogTime {
    private let moment: Timestamp

    init(_ moment: Timestamp) { self.moment = moment }

    /// As in `2026-11-22T08:00:00+0100`.
    var local: String {
        var seconds = time_t(moment.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Self.text(&parts, "%Y-%m-%dT%H:%M:%S%z")
    }

    /// As in `2026-11-22T07:00:00.125Z` (RFC 3339).
    var utc: String {
        var seconds = time_t(moment.seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let rest = String(moment.milliseconds - moment.seconds * 1_000)
        return Self.text(&parts, "%Y-%m-%dT%H:%M:%S.") + String(repeating: "0", count: max(0, 3 - rest.count)) + rest
            + "Z"
    }

    private static func text(_ parts: inout tm, _ format: String) -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, format, &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
