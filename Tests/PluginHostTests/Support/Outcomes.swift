import Notifications
import Synchronization

/// Outcomes in the order in which they came.
final class Outcomes: Sendable {
    private let kept = Mutex<[Outcome]>([])

    var all: [Outcome] { kept.withLock(\.self) }
    var reasons: [String] { all.map(\.reason) }

    func append(_ outcome: Outcome) { kept.withLock { $0.append(outcome) } }
}
