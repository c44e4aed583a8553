import Dispatch
import HTTPClient
import Synchronization

@testable import PluginHost

/// Holds every request until the test answers it.
final class HeldHTTP: HTTPSender {
    private let held = Mutex<[@Sendable (Result<HTTPResponse, HTTPError>) -> Void]>([])
    private let queue = DispatchQueue(label: "held-http")

    var count: Int { held.withLock(\.count) }

    func send(_: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void) {
        held.withLock { $0.append(completion) }
    }

    func answerAll(_ result: Result<HTTPResponse, HTTPError>) {
        let completions = held.withLock { held in
            defer { held = [] }
            return held
        }
        for completion in completions { queue.async { completion(result) } }
    }
}

/// Responds with 200, and records the scopes that were requested and released.
final class ScopedHTTP: HTTPSender {
    private let recording = RecordingHTTP()
    private let given = Mutex<[ConnectionScope]>([])

    /// The scopes of the requests, in order.
    var scopes: [ConnectionScope?] { recording.requests.map(\.scope) }
    var retired: [ConnectionScope] { given.withLock(\.self) }

    func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) {
        recording.send(request, completion: completion)
    }

    func retire(_ scope: ConnectionScope) { given.withLock { $0.append(scope) } }
}
