import Core
import DequeModule

/// A request in flight, with the completion that takes its response.
///
/// `@unchecked Sendable`: it has one owner at a time, and moves from the sender's thread through a locked inbox to the
/// loop or thread that carries it.
final class Exchange: @unchecked Sendable {
    let request: HTTPRequest
    let url: URLParts
    let deadline: Deadline
    /// How many times a server refused it without processing it.
    var refusals = 0
    /// Whether it has given up its slot in libcurl (``TransferQueue/slow(_:)``).
    var isSlow = false
    /// The host's addresses in libcurl's format, unless libcurl resolves it itself.
    var addresses: String?
    private var completion: (@Sendable (Result<HTTPResponse, HTTPError>) -> Void)?

    init(
        request: HTTPRequest,
        url: URLParts,
        deadline: Deadline,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) {
        self.request = request
        self.url = url
        self.deadline = deadline
        self.completion = completion
    }

    deinit {
        // Only an event loop that was shut down before its connections drops unfinished work; this keeps the promise
        // even then.
        completion?(.failure(HTTPError(.shutdown, mayHaveBeenProcessed: true)))
    }

    func complete(_ result: Result<HTTPResponse, HTTPError>) {
        guard let completion = completion.take() else {
            assertionFailure("a request was completed twice")
            return
        }
        completion(result)
    }

    func fail(_ reason: HTTPError.Reason, mayHaveBeenProcessed: Bool) {
        complete(.failure(HTTPError(reason, mayHaveBeenProcessed: mayHaveBeenProcessed)))
    }
}

/// A bounded FIFO queue of requests that wait for a stream. The caller supplies the time.
struct WaitingRequests {
    private(set) var requests: Deque<Exchange> = []
    private let limit: Int
    /// No waiting request has an earlier deadline.
    private(set) var soonestDeadline: Deadline = .distantFuture

    init(limit: Int) {
        self.limit = limit
    }

    /// Returns false if the queue is full.
    mutating func append(_ exchange: Exchange) -> Bool {
        guard requests.count < limit else { return false }
        requests.append(exchange)
        soonestDeadline = min(soonestDeadline, exchange.deadline)
        return true
    }

    /// Puts a taken or refused request back to the front. This always succeeds.
    mutating func putBack(_ exchange: Exchange) {
        requests.prepend(exchange)
        soonestDeadline = min(soonestDeadline, exchange.deadline)
    }

    mutating func next() -> Exchange? {
        requests.popFirst()
    }

    mutating func takeNewest() -> Exchange? {
        requests.popLast()
    }

    /// Removes and returns those whose deadline is `time` or earlier.
    mutating func takeDue(by time: Deadline) -> [Exchange] {
        guard soonestDeadline <= time else { return [] }
        var due: [Exchange] = []
        var later: Deque<Exchange> = []
        soonestDeadline = .distantFuture
        for exchange in requests {
            if exchange.deadline <= time {
                due.append(exchange)
            } else {
                later.append(exchange)
                soonestDeadline = min(soonestDeadline, exchange.deadline)
            }
        }
        requests = later
        return due
    }

    mutating func takeAll() -> [Exchange] {
        defer {
            requests.removeAll()
            soonestDeadline = .distantFuture
        }
        return Array(requests)
    }
}
