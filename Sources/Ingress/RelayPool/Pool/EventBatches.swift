/// The events of one relay that were read and not handed over yet, grouped by their reading.
struct EventBatches {
    /// What is handed over at once.
    struct Batch: Equatable {
        let reading: Reading
        private(set) var events: [[UInt8]] = []
        private(set) var arrivals: [Arrival] = []
        private(set) var bytes = 0

        fileprivate init(_ reading: Reading) {
            self.reading = reading
        }

        fileprivate mutating func append(_ event: [UInt8], _ arrival: Arrival) {
            events.append(event)
            arrivals.append(arrival)
            bytes += event.count
        }
    }

    private let limit: Int
    private var open: [Reading: Batch] = [:]

    /// - Parameter limit: Events in one batch at most.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Adds an event. Returns the batch if this fills it.
    mutating func add(_ event: [UInt8], _ arrival: Arrival) -> Batch? {
        var batch = open.removeValue(forKey: arrival.reading) ?? Batch(arrival.reading)
        batch.append(event, arrival)
        guard batch.events.count < limit else { return batch }
        open[arrival.reading] = batch
        return nil
    }

    /// All that is there.
    mutating func takeAll() -> [Batch] {
        guard !open.isEmpty else { return [] }
        defer { open.removeAll(keepingCapacity: true) }
        return Array(open.values)
    }
}

/// Counts the events of one relay that were read and are not settled.
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
    /// Whether there are so many that reading must stop.
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
