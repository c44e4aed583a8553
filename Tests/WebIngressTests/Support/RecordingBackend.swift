import Dispatch
import Synchronization

@testable import WebIngress

/// Records the messages, and answers as a test sets.
final class RecordingBackend: Sendable {
    private let batches = Mutex<[[IngressPush]]>([])
    private let answer: @Sendable (IngressPush) -> IngressAnswer
    /// Held by a test that wants messages to wait.
    let door = DispatchSemaphore(value: 0)
    private let isDoorShut: Bool
    private let (entries, entered) = AsyncStream.makeStream(of: Void.self)

    init(isDoorShut: Bool = false, answer: @escaping @Sendable (IngressPush) -> IngressAnswer = { _ in .queued }) {
        self.isDoorShut = isDoorShut
        self.answer = answer
    }

    var kept: [[IngressPush]] { batches.withLock { $0 } }
    var pushes: [IngressPush] { kept.flatMap { $0 } }

    @Sendable func keep(_ pushes: [IngressPush]) -> [IngressAnswer] {
        batches.withLock { $0.append(pushes) }
        entered.yield()
        if isDoorShut { door.wait() }
        return pushes.map(answer)
    }

    /// Returns once a batch waits in the backend.
    func someoneWaits() async {
        for await _ in entries { return }
    }
}
