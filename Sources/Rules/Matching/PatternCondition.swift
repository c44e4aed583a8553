import Nostr
import Patterns
import Synchronization

/// A pattern that values of an event have to match, with one budget for all of them.
///
/// Rules are asked for each device of each account that an event names. Where finding out was dear, the answer is kept until
/// another event's was dear, so that an event costs that once.
final class PatternCondition: Sendable {
    /// What may be spent again for each device.
    private static let cheap = 2_000

    private struct Answer {
        /// The whole of it, since the id of an event that nobody verified proves nothing. One event is quickly told to be itself.
        var event: Event
        var holds: Bool
    }

    private let pattern: Pattern
    private let dearAnswer = Mutex<Answer?>(nil)
    private let exceeded = Atomic<UInt64>(0)

    init(_ pattern: Pattern) {
        self.pattern = pattern
    }

    /// How many events had values that took more than the budget, so that the pattern counted as not matched.
    var exceededCount: UInt64 { exceeded.load(ordering: .relaxed) }

    /// Whether any of `texts` matches, which for one event are always the same.
    func holds(for event: Event, among texts: () -> some Sequence<String>) -> Bool {
        let known = dearAnswer.withLock { $0?.event == event ? $0?.holds : nil }
        if let known { return known }
        var budget = PatternBudget()
        let verdict = verdict(on: texts(), within: &budget)
        if verdict == .exceeded { exceeded.add(1, ordering: .relaxed) }
        let holds = verdict == .matches
        if PatternBudget.usual - budget.left > Self.cheap {
            dearAnswer.withLock { $0 = Answer(event: event, holds: holds) }
        }
        return holds
    }

    private func verdict(on texts: some Sequence<String>, within budget: inout PatternBudget) -> Pattern.Verdict {
        for text in texts {
            let verdict = pattern.match(text, within: &budget)
            guard verdict == .differs else { return verdict }
        }
        return .differs
    }
}
