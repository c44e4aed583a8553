import Dispatch
import HTTPLanes
import Synchronization

/// Holds every request until the test answers it.
final class HeldHTTP: HTTPSender {
    private let held = Mutex<[@Sendable (Result<HTTPResponse, HTTPFailure>) -> Void]>([])
    private let queue = DispatchQueue(label: "held-http")

    var count: Int { held.withLock(\.count) }

    func send(_: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void) {
        held.withLock { $0.append(completion) }
    }

    func answerAll(_ result: Result<HTTPResponse, HTTPFailure>) {
        let completions = held.withLock { held in
            defer { held = [] }
            return held
        }
        for completion in completions { queue.async { completion(result) } }
    }
}
