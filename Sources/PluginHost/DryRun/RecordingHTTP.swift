import Dispatch
import HTTPLanes
import Synchronization

/// Sends nothing: keeps every request, and answers as it was told. A plugin on such a host is a dry run that shows exactly
/// what would have gone out.
package final class RecordingHTTP: HTTPSender {
    package typealias Answer = @Sendable (HTTPRequest) -> Result<HTTPResponse, HTTPFailure>

    private let recorded = Mutex<[HTTPRequest]>([])
    private let answer: Answer
    private let queue = DispatchQueue(label: "carillon.recording-http")

    /// Answers `200` without a body, unless `answer` knows better.
    package init(answer: @escaping Answer = { _ in .success(HTTPResponse(status: 200)) }) {
        self.answer = answer
    }

    /// What was asked for so far, in order.
    package var requests: [HTTPRequest] { recorded.withLock(\.self) }

    /// What was asked for since the last time, in order.
    package func takeRequests() -> [HTTPRequest] {
        recorded.withLock { requests in
            defer { requests = [] }
            return requests
        }
    }

    package func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        recorded.withLock { $0.append(request) }
        queue.async { [answer] in completion(answer(request)) }
    }
}
