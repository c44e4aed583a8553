import Pipeline
import Synchronization

/// What a submission is told, when it is told.
final class Answer: Sendable {
    private let told = Mutex<[[EventVerdict]]>([])

    @Sendable func take(_ verdicts: [EventVerdict]) { told.withLock { $0.append(verdicts) } }

    /// How often it was told something.
    var count: Int { told.withLock { $0.count } }
    var results: [EventVerdict.Result] { told.withLock { $0.last ?? [] }.map(\.result) }
}
