import Glibc
import Notifications
import Synchronization

/// Outcomes in the order in which they came.
final class Outcomes: Sendable {
    private let kept = Mutex<[Outcome]>([])

    var all: [Outcome] { kept.withLock(\.self) }
    var reasons: [String] { all.map(\.reason) }

    /// Waits until there is one, up to 20 s.
    func awaitFirst() {
        for _ in 0..<20_000 where all.isEmpty { usleep(1_000) }
    }

    func append(_ outcome: Outcome) { kept.withLock { $0.append(outcome) } }
}
