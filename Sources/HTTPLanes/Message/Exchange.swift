/// A request on its way, with the one place its answer goes to.
///
/// `@unchecked Sendable`: it has one holder at a time and is handed over whole, from the sender's thread through a locked
/// inbox to the loop or thread that carries it.
final class Exchange: @unchecked Sendable {
    let request: HTTPRequest
    let url: URLParts
    /// On the monotonic clock, in milliseconds.
    let deadline: Int64
    /// How often a server has handed it back unprocessed.
    var refusals = 0
    private var completion: (@Sendable (Result<HTTPResponse, HTTPFailure>) -> Void)?

    init(
        request: HTTPRequest,
        url: URLParts,
        deadline: Int64,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        self.request = request
        self.url = url
        self.deadline = deadline
        self.completion = completion
    }

    deinit {
        // Only an event loop that was shut down before its lanes drops work unfinished; the promise holds even then.
        completion?(.failure(HTTPFailure(.shutdown, mayHaveBeenProcessed: true)))
    }

    func complete(_ result: Result<HTTPResponse, HTTPFailure>) {
        guard let completion else {
            assertionFailure("a request was completed twice")
            return
        }
        self.completion = nil
        completion(result)
    }

    func fail(_ reason: HTTPFailure.Reason, mayHaveBeenProcessed: Bool) {
        complete(.failure(HTTPFailure(reason, mayHaveBeenProcessed: mayHaveBeenProcessed)))
    }
}
