import Units

/// The events of one relay that were read, in batches to hand over, and how many of them are not settled.
struct EventBatches {
    /// What is handed over at once.
    struct Batch: Equatable {
        let reading: Reading
        private(set) var events: [[UInt8]] = []
        private(set) var arrivals: [Arrival] = []
        private(set) var bytes = 0
        /// How many of them may register somebody.
        private(set) var registering = 0

        fileprivate init(_ reading: Reading) {
            self.reading = reading
        }

        fileprivate mutating func append(_ event: [UInt8], _ arrival: Arrival, mayRegister: Bool) {
            if mayRegister { registering += 1 }
            events.append(event)
            arrivals.append(arrival)
            bytes += event.count
        }
    }

    private let limits: ConnectionLimits
    /// Not handed over yet.
    private var open: [Reading: Batch] = [:]
    private var unsettled = (events: 0, bytes: 0)

    init(limits: ConnectionLimits) {
        self.limits = limits
    }

    /// Whether every event is settled.
    var isSettled: Bool { unsettled.events == 0 }
    /// Whether so many are not settled that reading must stop.
    var isFull: Bool { unsettled.events >= limits.eventsInWork || unsettled.bytes >= limits.bytesInWork.bytes }

    /// Adds an event. Returns the batch if this fills it.
    mutating func add(_ event: [UInt8], _ arrival: Arrival, mayRegister: Bool = false) -> Batch? {
        unsettled.events += 1
        unsettled.bytes += event.count
        var batch = open.removeValue(forKey: arrival.reading) ?? Batch(arrival.reading)
        batch.append(event, arrival, mayRegister: mayRegister)
        guard batch.events.count < limits.batch else { return batch }
        open[arrival.reading] = batch
        return nil
    }

    mutating func settle(_ batch: Batch) {
        unsettled.events -= batch.events.count
        unsettled.bytes -= batch.bytes
    }

    /// Returns everything that is not handed over yet.
    mutating func takeAll() -> [Batch] {
        guard !open.isEmpty else { return [] }
        defer { open.removeAll(keepingCapacity: true) }
        return Array(open.values)
    }
}
