import HTTPLanes
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Answers requests for information documents, at once or when a test lets go.
final class StubHTTP: HTTPSender {
    private struct State {
        var requests: [HTTPRequest] = []
        var holds: Bool
        var held: [@Sendable () -> Void] = []
    }

    private let document: String?
    private let state: NIOLockedValueBox<State>

    /// Without a document there is no such page.
    init(document: String? = nil, holds: Bool = false) {
        self.document = document
        state = NIOLockedValueBox(State(holds: holds))
    }

    var requests: [HTTPRequest] { state.withLockedValue { $0.requests } }

    func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        let response = HTTPResponse(status: document == nil ? 404 : 200, body: Array((document ?? "").utf8))
        let complete: @Sendable () -> Void = {
            MultiThreadedEventLoopGroup.singleton.next().execute { completion(.success(response)) }
        }
        let isHeld = state.withLockedValue { state in
            state.requests.append(request)
            if state.holds { state.held.append(complete) }
            return state.holds
        }
        if !isHeld { complete() }
    }

    func letGo() {
        let held = state.withLockedValue { state in
            state.holds = false
            defer { state.held = [] }
            return state.held
        }
        for complete in held { complete() }
    }
}
