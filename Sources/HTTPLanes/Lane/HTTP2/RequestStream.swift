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
    let exchange: Exchange

    /// Whether its HEADERS have gone out. Until then the peer cannot have seen it.
    var isSent = false
    /// Of the request's body, in bytes.
    var bodySent = 0
    let bodyCount: Int
    var sendWindow = SendWindow()
    var receiveWindow = ReceiveWindow(size: RequestStream.window)
    var answer: Answer

    init(_ exchange: Exchange, id: Int32, now: Int64) {
        self.exchange = exchange
        self.id = id
        submittedAt = now
        deadline = exchange.deadline
        bodyCount = exchange.request.body.count
        answer = Answer(
            bodyLimit: Int(exchange.request.maxResponseBytes),
            isToHead: exchange.request.method == "HEAD"
        )
    }

    /// Whether this side has nothing more to send.
    var isRequestComplete: Bool { isSent && bodySent == bodyCount }

    /// The window every stream begins with, as this side does not set another.
    static let window = 65_535
}

typealias StreamPointer = UnsafeMutablePointer<RequestStream>
