/// The events of one relay that were read and are not settled yet.
struct EventsInWork {
    private let maximumCount: Int
    private let maximumBytes: Int
    private var count = 0
    private var bytes = 0

    init(limits: ConnectionLimits) {
        maximumCount = limits.eventsInWork
        maximumBytes = limits.bytesInWork
    }

    var isEmpty: Bool { count == 0 }
    /// Whether so many are in work that no more are to be read.
    var isFull: Bool { count >= maximumCount || bytes >= maximumBytes }

    mutating func add(bytes: Int) {
        count += 1
        self.bytes += bytes
    }

    mutating func settle(_ batch: EventBatches.Batch) {
        count -= batch.events.count
        bytes -= batch.bytes
    }
}
