import Units

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
    var submittedAt: Deadline
    var deadline: Deadline
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
    ///   - now: When it was submitted.
    init(_ unmanagedExchange: Unmanaged<Exchange>, id: Int32, now: Deadline) {
        let exchange = unmanagedExchange.takeUnretainedValue()
        self.unmanagedExchange = unmanagedExchange
        self.id = id
        submittedAt = now
        deadline = exchange.deadline
        bodyCount = exchange.request.body.count
        answer = Answer(
            bodyLimit: exchange.request.maxResponseBytes.bytes,
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

/// The streams that are open, by their ids. Their memory is used again for later ones.
struct StreamTable: ~Copyable {
    private var buckets: UnsafeMutablePointer<StreamPointer?>
    private var mask: Int
    private(set) var open: [StreamPointer] = []
    private var spare: [StreamPointer] = []

    /// Small: a router may have a connection to each of a thousand hosts.
    init() { (buckets, mask) = Self.emptyBuckets(16) }

    private static func emptyBuckets(_ count: Int) -> (UnsafeMutablePointer<StreamPointer?>, mask: Int) {
        let buckets = UnsafeMutablePointer<StreamPointer?>.allocate(capacity: count)
        buckets.initialize(repeating: nil, count: count)
        return (buckets, count - 1)
    }

    deinit {
        for stream in open {
            stream.pointee.unmanagedExchange.release()
            stream.deinitialize(count: 1)
            stream.deallocate()
        }
        for stream in spare { stream.deallocate() }
        buckets.deallocate()
    }

    subscript(id: Int32) -> StreamPointer? {
        var stream = buckets[bucket(of: id)]
        while let found = stream, found.pointee.id != id { stream = found.pointee.nextInBucket }
        return stream
    }

    mutating func insert(_ exchange: Exchange, id: Int32, now: Deadline) -> StreamPointer {
        if open.count > mask, mask < Self.maximumBuckets - 1 { grow() }
        let place = spare.popLast() ?? .allocate(capacity: 1)
        place.initialize(to: RequestStream(.passRetained(exchange), id: id, now: now))
        link(place)
        place.pointee.index = open.count
        open.append(place)
        return place
    }

    private func link(_ stream: StreamPointer) {
        let bucket = bucket(of: stream.pointee.id)
        stream.pointee.nextInBucket = buckets[bucket]
        buckets[bucket] = stream
    }

    private mutating func grow() {
        buckets.deallocate()
        (buckets, mask) = Self.emptyBuckets(2 * (mask + 1))
        for stream in open { link(stream) }
    }

    /// Takes it out and returns what it was for; the pointer is of no use afterwards.
    mutating func remove(_ stream: StreamPointer) -> Exchange {
        let bucket = bucket(of: stream.pointee.id)
        if buckets[bucket] == stream {
            buckets[bucket] = stream.pointee.nextInBucket
        } else {
            var previous = buckets[bucket]
            while let other = previous, other.pointee.nextInBucket != stream { previous = other.pointee.nextInBucket }
            previous?.pointee.nextInBucket = stream.pointee.nextInBucket
        }
        let index = stream.pointee.index
        let last = open.removeLast()
        if last != stream {
            open[index] = last
            last.pointee.index = index
        }
        spare.append(stream)
        // Without counting references up and down again.
        let exchange = stream.pointee.unmanagedExchange
        stream.deinitialize(count: 1)
        return exchange.takeRetainedValue()
    }

    /// Ids are odd and given in turn, so those of neighbours in time never meet in a bucket.
    private func bucket(of id: Int32) -> Int { Int(id >> 1) & mask }

    private static let maximumBuckets = 4_096
}

/// The streams that have frames to send, first come first served.
struct StreamQueue {
    private(set) var first: StreamPointer?
    private var last: StreamPointer?

    mutating func append(_ stream: StreamPointer) {
        guard !stream.pointee.isQueued else { return }
        stream.pointee.isQueued = true
        stream.pointee.previousInQueue = last
        stream.pointee.nextInQueue = nil
        if let last { last.pointee.nextInQueue = stream } else { first = stream }
        last = stream
    }

    mutating func remove(_ stream: StreamPointer) {
        guard stream.pointee.isQueued else { return }
        stream.pointee.isQueued = false
        let (previous, next) = (stream.pointee.previousInQueue, stream.pointee.nextInQueue)
        if let previous { previous.pointee.nextInQueue = next } else { first = next }
        if let next { next.pointee.previousInQueue = previous } else { last = previous }
    }
}

/// The streams this side has lately reset. What their peer had under way is passed over; on any other closed stream it
/// would be a violation (RFC 9113, section 5.1).
struct ResetStreams {
    private var streams: Set<Int32> = []
    private var order: [Int32] = []
    private var nextToForget = 0
    /// Streams up to this one may have been forgotten.
    private var forgotten: Int32 = 0
    private let capacity: Int

    init(capacity: Int = 1_024) {
        self.capacity = capacity
    }

    mutating func insert(_ streamID: Int32) {
        guard streams.insert(streamID).inserted else { return }
        guard order.count == capacity else {
            order.append(streamID)
            return
        }
        let old = order[nextToForget]
        streams.remove(old)
        forgotten = max(forgotten, old)
        order[nextToForget] = streamID
        nextToForget = (nextToForget + 1) % capacity
    }

    /// In doubt, yes.
    func mayContain(_ streamID: Int32) -> Bool {
        streamID <= forgotten || streams.contains(streamID)
    }
}
