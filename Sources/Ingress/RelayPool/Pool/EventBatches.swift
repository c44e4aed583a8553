/// The events of one relay that were read and not yet handed over, by how they were read.
struct EventBatches {
    /// What is handed over at once.
    struct Batch: Equatable {
        let reading: Reading
        var events: [[UInt8]] = []
        var bytes = 0
    }

    private let limit: Int
    private var open: [Reading: Batch] = [:]

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Adds an event. Returns the batch that is full with it.
    mutating func add(_ event: [UInt8], _ reading: Reading) -> Batch? {
        var batch = open.removeValue(forKey: reading) ?? Batch(reading: reading)
        batch.events.append(event)
        batch.bytes += event.count
        guard batch.events.count >= limit else {
            open[reading] = batch
            return nil
        }
        return batch
    }

    /// All that is there.
    mutating func takeAll() -> [Batch] {
        defer { open.removeAll(keepingCapacity: true) }
        return Array(open.values)
    }
}
