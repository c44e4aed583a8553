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
