import Logging

/// Tells an operator which rules' patterns cost too much for some text, and therefore did not match it.
struct ExpensivePatterns {
    private var reported: [String: UInt64] = [:]

    /// The rules in which it happened since the last call, and how often. `counts` are the totals so far.
    mutating func newCounts(in counts: [String: UInt64]) -> [(rule: String, count: UInt64)] {
        defer { reported = counts }
        return counts.sorted { $0.key < $1.key }.compactMap { rule, count in
            // New rules count from 0 again.
            let known = reported[rule] ?? 0
            let new = count < known ? count : count - known
            return new > 0 ? (rule, new) : nil
        }
    }

    /// Looks once a minute, until the task is cancelled and `pause`, which is that minute, throws.
    static func watch(
        _ counts: @Sendable () -> [String: UInt64],
        logger: Logger,
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(60)) }
    ) async {
        var patterns = ExpensivePatterns()
        while (try? await pause()) != nil {
            for (rule, count) in patterns.newCounts(in: counts()) {
                logger.warning(
                    "A rule's pattern was too dear for some texts, and did not match them",
                    metadata: ["rule": "\(rule)", "texts": "\(count)"]
                )
            }
        }
    }
}
