import HTTPLanes
import PluginHost
import Synchronization

/// Answers 200 on a connection of no kind, and notes which scopes were asked for and given up.
final class ScopedHTTP: HTTPSender {
    private let recording = RecordingHTTP()
    private let given = Mutex<[ConnectionScope]>([])

    /// Of the requests, in order.
    var scopes: [ConnectionScope?] { recording.requests.map(\.scope) }
    var retired: [ConnectionScope] { given.withLock(\.self) }

    func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        recording.send(request, completion: completion)
    }

    func retire(_ scope: ConnectionScope) { given.withLock { $0.append(scope) } }
}
