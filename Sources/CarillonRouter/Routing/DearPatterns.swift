import Logging

/// Tells an operator which rules' patterns were too dear for some text, and did not match it for that reason.
struct DearPatterns {
    private var told: [String: UInt64] = [:]

    /// The rules in which it happened since the last time, and how often, by name. `counts` are all there were so far.
    mutating func news(in counts: [String: UInt64]) -> [(rule: String, count: UInt64)] {
        defer { told = counts }
        return counts.sorted { $0.key < $1.key }.compactMap { rule, count in
            // Other rules begin to count anew.
            let known = told[rule] ?? 0
            let news = count < known ? count : count - known
            return news > 0 ? (rule, news) : nil
        }
    }

    /// Looks once a minute, until the task is cancelled: then `pause`, which is that minute, throws.
    static func watch(
        _ counts: @Sendable () -> [String: UInt64],
        logger: Logger,
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(60)) }
    ) async {
        var patterns = DearPatterns()
        while (try? await pause()) != nil {
            for (rule, count) in patterns.news(in: counts()) {
                logger.warning(
                    "A rule's pattern was too dear for some texts, and did not match them",
                    metadata: ["rule": "\(rule)", "texts": "\(count)"]
                )
            }
        }
    }
}
