import Core

/// A rate limit for log lines that a server causes: each line at most once a minute, and up to 16 different ones.
struct RepeatedLines: Sendable {
    private static let interval: Duration = .minutes(1)
    private static let maxLines = 16

    private var lines: [String: (loggedAt: Deadline, unsaid: Int)] = [:]

    /// Returns how often the line was suppressed since it was last logged; nil: suppress it now.
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
    /// The first 200 characters of a server's text, for a log line.
    var excerpt: String {
        let start = unicodeScalars.prefix(200)
        return String(String.UnicodeScalarView(start)) + (start.endIndex < unicodeScalars.endIndex ? "…" : "")
    }
}
