/// One request on its stream, from submission to its end. It lives at one address, where its session's table and queue
/// point to.
struct RequestStream {
    /// Where the table's list of open streams holds it.
    var index = 0
    var nextInBucket: StreamPointer?
    var nextInQueue: StreamPointer?
    var previousInQueue: StreamPointer?
    var isQueued = false

    var id: Int32 = 0
    var submittedAt: Int64 = 0
    var deadline: Int64 = 0
    /// Held once by the table, which gives it back.
    let unmanagedExchange: Unmanaged<Exchange>

    /// Whether its HEADERS have gone out. Until then the peer cannot have seen it.
    var isSent = false
    /// Of the request's body, in bytes.
    var bodySent = 0
    let bodyCount: Int
    var sendWindow = SendWindow()
    var receiveWindow = ReceiveWindow(size: RequestStream.window)
    var answer: Answer

    /// - Parameters:
    ///   - unmanagedExchange: What it is for, already held.
    ///   - id: The stream's.
    ///   - now: When it was submitted, in milliseconds.
    init(_ unmanagedExchange: Unmanaged<Exchange>, id: Int32, now: Int64) {
        let exchange = unmanagedExchange.takeUnretainedValue()
        self.unmanagedExchange = unmanagedExchange
        self.id = id
        submittedAt = now
        deadline = exchange.deadline
        bodyCount = exchange.request.body.count
        answer = Answer(
            bodyLimit: Int(exchange.request.maxResponseBytes),
            isToHead: exchange.request.method == "HEAD"
        )
    }

    /// Lends what it is for; uncounted, as the table holds it.
    func withExchange<Result>(_ body: (Exchange) -> Result) -> Result {
        unmanagedExchange._withUnsafeGuaranteedRef(body)
    }

    /// Whether this side has nothing more to send.
    var isRequestComplete: Bool { isSent && bodySent == bodyCount }

    /// The window every stream begins with, as this side does not set another.
    static let window = 65_535
}

typealias StreamPointer = UnsafeMutablePointer<RequestStream>
