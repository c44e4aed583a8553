/// The streams that are open, by their ids. Their memory is used again for later ones.
struct StreamTable: ~Copyable {
    private let buckets: UnsafeMutablePointer<StreamPointer?>
    private let mask: Int
    private(set) var open: [StreamPointer] = []
    private var spare: [StreamPointer] = []

    /// - Parameter expected: About how many streams will be open at most; more are found as well, but slower.
    init(expected: Int) {
        var count = 16
        while count < min(expected, Self.maximumBuckets) { count *= 2 }
        buckets = .allocate(capacity: count)
        buckets.initialize(repeating: nil, count: count)
        mask = count - 1
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

    mutating func insert(_ exchange: Exchange, id: Int32, now: Int64) -> StreamPointer {
        let place = spare.popLast() ?? .allocate(capacity: 1)
        place.initialize(to: RequestStream(.passRetained(exchange), id: id, now: now))
        let bucket = bucket(of: id)
        place.pointee.nextInBucket = buckets[bucket]
        buckets[bucket] = place
        place.pointee.index = open.count
        open.append(place)
        return place
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
