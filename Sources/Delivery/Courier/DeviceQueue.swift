import Core
import DequeModule
import HeapModule
import Push

/// The deliveries of one device in memory, in order. Only one is attempted at a time.
struct DeviceQueue: Sendable {
    enum State: Sendable {
        /// Belongs to no device.
        case free
        /// Waits for its turn.
        case ready
        /// Its first delivery is being attempted.
        case inFlight
        /// Waits for a due time.
        case delayed
        /// Waits for another attempt to the same host to end.
        case held
    }

    var device: DeviceID
    var state: State
    var waiting: Deque<StoredDelivery> = []
    /// The host of the attempt in progress, if attempts per host are counted.
    var host: String?
    /// Whether that attempt is slow (``CourierLimits/slowAfter``).
    var isSlow = false
    /// The host that called this device, until its turn is decided.
    var caller: String?
}

/// The deliveries of one courier queue in memory: by device, with the devices whose turn is next, and the deliveries
/// that wait for a due time.
///
/// A device keeps its index while it has deliveries here. The next device reuses the index and its memory.
struct DeviceQueues: Sendable {
    /// A device or delivery that waits for a due time.
    private struct Delayed: Comparable, Sendable {
        enum Content: Sendable {
            /// The whole queue of a device.
            case device(Int)
            /// One delivery that no longer blocks its device's queue.
            case single(StoredDelivery)
        }

        let place: RetryPlace
        let content: Content

        static func < (left: Delayed, right: Delayed) -> Bool { left.place < right.place }

        static func == (left: Delayed, right: Delayed) -> Bool { left.place == right.place }
    }

    private var queues: [DeviceQueue] = []
    private var indices: [DeviceID: Int] = [:]
    private var free: [Int] = []
    private var ready: Deque<Int> = []
    private var delayed = Heap<Delayed>()
    /// The number of deliveries in memory.
    private(set) var count = 0
    /// The number of these that wait for a due time.
    private(set) var delayedCount = 0

    subscript(index: Int) -> DeviceQueue {
        _read { yield queues[index] }
        _modify { yield &queues[index] }
    }

    /// The number of devices with deliveries here.
    var deviceCount: Int { indices.count }

    var hasReady: Bool { !ready.isEmpty }

    /// The earliest due time.
    var nextDue: Timestamp? { delayed.min?.place.due }

    /// The position of the entry with the latest due time.
    var lastPlace: RetryPlace? { delayed.max?.place }

    /// Whether `attempt` is in progress. False for a second completion of the same attempt.
    func isUnderWay(_ attempt: Attempt) -> Bool {
        guard queues.indices.contains(attempt.device), queues[attempt.device].state == .inFlight else { return false }
        return queues[attempt.device].waiting.first === attempt.stored
    }

    /// Adds a delivery after those of its device.
    mutating func append(_ stored: StoredDelivery) {
        count += 1
        enqueue(stored)
    }

    /// Removes a device's first delivery.
    mutating func removeFirst(of index: Int) -> StoredDelivery? {
        guard let stored = queues[index].waiting.popFirst() else { return nil }
        count -= 1
        return stored
    }

    /// Removes the device whose turn is next.
    mutating func nextReady() -> Int? { ready.popFirst() }

    mutating func makeReady(_ index: Int) {
        queues[index].state = .ready
        ready.append(index)
    }

    /// Gives a device the very next turn.
    mutating func makeNext(_ index: Int) {
        queues[index].state = .ready
        ready.prepend(index)
    }

    /// Gives a device another turn, or releases its index if it has no more deliveries.
    mutating func proceed(_ index: Int) {
        if queues[index].waiting.isEmpty {
            release(index)
        } else {
            makeReady(index)
        }
    }

    mutating func release(_ index: Int) {
        indices[queues[index].device] = nil
        queues[index].waiting.removeAll(keepingCapacity: queues[index].waiting.count < 16)
        queues[index].state = .free
        queues[index].host = nil
        queues[index].caller = nil
        free.append(index)
    }

    /// Delays a device with all its deliveries until `due`.
    mutating func delay(_ index: Int, until due: Timestamp) {
        guard let first = queues[index].waiting.first else { return }
        queues[index].state = .delayed
        delayedCount += queues[index].waiting.count
        delayed.insert(Delayed(place: RetryPlace(due: due, key: first.key), content: .device(index)))
    }

    /// Delays a delivery until `due`, separate from its device's queue.
    mutating func delay(_ stored: StoredDelivery, until due: Timestamp) {
        count += 1
        delayedCount += 1
        delayed.insert(Delayed(place: RetryPlace(due: due, key: stored.key), content: .single(stored)))
    }

    /// Gives a turn to all due entries, and to those that would wait longer than `lifetime` because the clock was set
    /// back.
    mutating func wake(now: Timestamp, lifetime: Duration) {
        while let first = delayed.min, first.place.due <= now {
            wake(delayed.removeMin())
        }
        while let last = delayed.max, last.place.due - now > lifetime {
            wake(delayed.removeMax())
        }
    }

    private mutating func wake(_ entry: Delayed) {
        switch entry.content {
        case .device(let index):
            delayedCount -= queues[index].waiting.count
            makeReady(index)
        case .single(let stored):
            delayedCount -= 1
            enqueue(stored)
        }
    }

    /// Removes the entry with the latest due time: a device with all its deliveries, or a single delivery.
    mutating func removeLast() -> (deliveries: Deque<StoredDelivery>, stopsBlocking: Bool)? {
        guard let last = delayed.popMax() else { return nil }
        let stopsBlocking: Bool
        let deliveries: Deque<StoredDelivery>
        switch last.content {
        case .single(let stored): (deliveries, stopsBlocking) = ([stored], true)
        case .device(let index):
            (deliveries, stopsBlocking) = (queues[index].waiting, false)
            release(index)
        }
        count -= deliveries.count
        delayedCount -= deliveries.count
        return (deliveries, stopsBlocking)
    }

    /// Moves all due times back by `step`, like the clock. Returns the changes to store, because a restart would lose
    /// them.
    mutating func follow(clockSetBackBy step: Duration) -> [OutboxChanges.Rescheduling] {
        var reschedulings: [OutboxChanges.Rescheduling] = []
        let entries = delayed.unordered
        delayed = Heap(
            entries.map { entry in
                var place = entry.place
                place.due -= step
                switch entry.content {
                case .single(let stored):
                    let moved = stored.setBack(by: step, &reschedulings)
                    return Delayed(place: place, content: .single(moved))
                case .device(let index):
                    for position in queues[index].waiting.indices {
                        queues[index].waiting[position] = queues[index].waiting[position]
                            .setBack(by: step, &reschedulings)
                    }
                    return Delayed(place: place, content: entry.content)
                }
            }
        )
        return reschedulings
    }

    /// The result of removing deliveries.
    struct Removal {
        var removed: [StoredDelivery] = []
        /// The deliveries that stay, because an attempt is in progress.
        var underWay: Set<OutboxKey> = []
    }

    /// Removes deliveries from memory. Devices that waited for the due time of one of them get a turn.
    mutating func remove(_ keys: Set<OutboxKey>) -> Removal {
        var removal = Removal()
        var woken: Set<Int> = []
        for index in indices.values {
            guard let first = queues[index].waiting.first else { continue }
            let isUnderWay = queues[index].state == .inFlight
            let chosen = queues[index].waiting.filter { keys.contains($0.key) }
            guard !chosen.isEmpty else { continue }
            var kept = queues[index].waiting.filter { !keys.contains($0.key) }
            if isUnderWay, keys.contains(first.key) {
                kept.prepend(first)
                removal.underWay.insert(first.key)
            }
            let removed = chosen.filter { !isUnderWay || $0 !== first }
            removal.removed += removed
            count -= removed.count
            queues[index].waiting = kept
            guard queues[index].state == .delayed else { continue }
            delayedCount -= removed.count
            if kept.first !== first { woken.insert(index) }
        }
        let entries = delayed.unordered
        delayed = Heap(
            entries.filter { entry in
                switch entry.content {
                case .device(let index): return !woken.contains(index)
                case .single(let stored):
                    guard keys.contains(stored.key) else { return true }
                    removal.removed.append(stored)
                    count -= 1
                    delayedCount -= 1
                    return false
                }
            }
        )
        for index in woken.sorted() {
            delayedCount -= queues[index].waiting.count
            proceed(index)
        }
        return removal
    }

    /// Makes deliveries in memory due at `now`. Returns the rescheduled ones, and those of `keys` that are in memory.
    mutating func expedite(
        _ keys: Set<OutboxKey>,
        now: Timestamp
    ) -> (expedited: [StoredDelivery], inMemory: Set<OutboxKey>) {
        var expedited: [StoredDelivery] = []
        var inMemory: Set<OutboxKey> = []
        for index in indices.values { inMemory.formUnion(queues[index].waiting.lazy.map(\.key).filter(keys.contains)) }
        let entries = delayed.unordered
        delayed = Heap(
            entries.map { entry in
                switch entry.content {
                case .single(let stored):
                    guard keys.contains(stored.key) else { return entry }
                    inMemory.insert(stored.key)
                    let due = stored.rescheduled(attempts: stored.attempts, due: now)
                    expedited.append(due)
                    return Delayed(place: RetryPlace(due: now, key: stored.key), content: .single(due))
                case .device(let index):
                    var isExpedited = false
                    for position in queues[index].waiting.indices {
                        let stored = queues[index].waiting[position]
                        guard keys.contains(stored.key) else { continue }
                        isExpedited = true
                        let due = stored.due.map { _ in stored.rescheduled(attempts: stored.attempts, due: now) }
                        queues[index].waiting[position] = due ?? stored
                        expedited.append(due ?? stored)
                    }
                    guard isExpedited else { return entry }
                    return Delayed(place: RetryPlace(due: now, key: entry.place.key), content: entry.content)
                }
            }
        )
        return (expedited, inMemory)
    }

    private mutating func enqueue(_ stored: StoredDelivery) {
        let index = index(of: stored.delivery.device)
        queues[index].waiting.append(stored)
        switch queues[index].state {
        case .free: makeReady(index)
        case .delayed: delayedCount += 1
        case .ready, .inFlight, .held: break
        }
    }

    private mutating func index(of device: DeviceID) -> Int {
        if let index = indices[device] { return index }
        let index: Int
        if let reused = free.popLast() {
            index = reused
            queues[index].device = device
        } else {
            index = queues.count
            queues.append(DeviceQueue(device: device, state: .free))
        }
        indices[device] = index
        return index
    }
}

extension StoredDelivery {
    /// Returns the delivery with its due time moved back. A delivery before its first attempt has no due time.
    fileprivate func setBack(
        by step: Duration,
        _ reschedulings: inout [OutboxChanges.Rescheduling]
    ) -> StoredDelivery {
        guard var due else { return self }
        due -= step
        reschedulings.append(OutboxChanges.Rescheduling(key: key, due: due, attempts: attempts))
        return rescheduled(attempts: attempts, due: due)
    }
}
