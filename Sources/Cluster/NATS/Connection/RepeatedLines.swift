import Core

/// A limit for log lines that a server causes: the same line at most once a minute, and a few different ones.
struct RepeatedLines: Sendable {
    private static let interval: Duration = .minutes(1)
    private static let maxLines = 16

    private var lines: [String: (loggedAt: Deadline, unsaid: Int)] = [:]

    /// How often the line was suppressed since it was last logged; nil: it must be suppressed now.
    mutating func admit(_ line: String, now: Deadline) -> Int? {
        if let known = lines[line], now - known.loggedAt < Self.interval {
            lines[line]?.unsaid += 1
            return nil
        }
        let unsaid = lines[line]?.unsaid ?? 0
        if lines[line] == nil, lines.count >= Self.maxLines {
            lines = lines.filter { now - $0.value.loggedAt < Self.interval }
            guard lines.count < Self.maxLines else { return nil }
        }
        lines[line] = (now, 0)
        return unsaid
    }
}

extension StringProtocol {
    /// The start of a text that a server wrote, as much as a log line repeats of it.
    var excerpt: String {
        let start = unicodeScalars.prefix(200)
        return String(String.UnicodeScalarView(start)) + (start.endIndex < unicodeScalars.endIndex ? "…" : "")
    }
}
