import Console
import Synchronization

/// Does one thing at a time, and refuses others meanwhile.
final class OneAtATime: Sendable {
    private let isTaken = Mutex(false)
    private let refusal: String

    init(_ refusal: String) {
        self.refusal = refusal
    }

    func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        let isFree = isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
        guard isFree else {
            throw APIProblem(503, Sentence("busy", [:], "\(refusal): try again in a moment"), retryAfter: 1)
        }
        defer { isTaken.withLock { $0 = false } }
        return try await body()
    }
}
