import Logging
import Notifications
import Storage
import Synchronization
import Units

/// Whether the outbox has capacity for one more delivery. For one thread that makes deliveries in batches.
///
/// A delivery without capacity is not refused: the pacer holds it, also for a device without any pace, and nobody else
/// waits for it.
package protocol DeliveryCapacity: Sendable {
    /// Reserves a place for a delivery to a device of `queue`; false when it has to wait until others have left.
    /// Reservations count until ``settle()``.
    func take(for device: DeviceID, of queue: QueueName) -> Bool

    /// Ends all reservations: their deliveries are in the outbox by now, or never will be.
    func settle()
}

/// Divides the outbox's capacity among push services, and among the hosts that users choose (``QueueQuota``).
///
/// Counts by device and looks hosts up, so that the disk needs to store nothing more.
///
/// A host is looked up only once its queue holds as many deliveries as one host may have, and is noted with each
/// attempt. A start counts the rows of the outbox.
package final class OutboxCapacity: DeliveryCapacity {
    private struct State: Sendable {
        private var names: [QueueName] = []
        /// The same number.
        var quotas: [QueueQuota] = []
        private var places: [QueueName: Int] = [:]
        private var last = 0
        var troubles: [QueueName: FailureLog] = [:]

        /// The place of a queue's quota. Most are of the same queue as the one before, whose name is two texts to hash.
        mutating func place(of queue: QueueName, _ limit: Int) -> Int {
            if last < names.count, names[last] == queue { return last }
            if let place = places[queue] {
                last = place
            } else {
                last = quotas.count
                names.append(queue)
                quotas.append(QueueQuota(of: limit))
                places[queue] = last
            }
            return last
        }
    }

    private let limit: Int
    private let host: @Sendable (DeviceID) -> String?
    private let now: @Sendable () -> Timestamp
    private let log: Logger
    private let state = Mutex(State())

    /// The capacity of an outbox for `limit` deliveries. `host` looks up the host of a device, if users choose it.
    init(
        limit: Int,
        host: @escaping @Sendable (DeviceID) -> String?,
        now: @escaping @Sendable () -> Timestamp,
        log: Logger
    ) {
        self.limit = limit
        self.host = host
        self.now = now
        self.log = log
    }

    package func take(for device: DeviceID, of queue: QueueName) -> Bool {
        var verdict = withQuota(of: queue) { $0.take(device) }
        if verdict == .dependsOnHost {
            // May read the disk: not under the lock.
            let host = host(device)
            verdict = withQuota(of: queue) { $0.take(device, at: host) }
        }
        guard verdict != .taken else { return true }
        trouble(of: queue)?.occurred(at: now())
        return false
    }

    package func settle() {
        state.withLock { state in
            for place in state.quotas.indices { state.quotas[place].settle() }
        }
    }

    /// How many more deliveries a queue takes from callers that can be asked to come again.
    package func capacityForCallers(of queue: QueueName) -> Int { withQuota(of: queue) { $0.capacityForCallers } }

    /// How many deliveries of a queue wait, and how many may.
    func usage(of queue: QueueName) -> (waiting: Int, limit: Int) { withQuota(of: queue) { ($0.count, $0.limit) } }

    /// Counts deliveries for a device that are in the outbox.
    func add(_ count: Int, for device: DeviceID, of queue: QueueName) {
        withQuota(of: queue) { $0.add(count, for: device) }
    }

    func add(_ deliveries: [StoredDelivery]) {
        state.withLock { state in
            for stored in deliveries {
                let place = state.place(of: stored.delivery.queue, limit)
                state.quotas[place].add(for: stored.delivery.device)
            }
        }
    }

    /// Releases the places of deliveries that ended.
    func remove(_ reports: [DeliveryReport]) {
        let passed = state.withLock { state in
            var passed: [FailureLog] = []
            // By their places, since a report is many texts.
            for number in reports.indices where reports[number].kind.isFinal {
                let place = state.place(of: reports[number].queue, limit)
                let wasBehind = state.quotas[place].isBehind
                state.quotas[place].remove(for: reports[number].device)
                guard wasBehind, !state.quotas[place].isBehind else { continue }
                if let trouble = state.troubles[reports[number].queue] { passed.append(trouble) }
            }
            return passed
        }
        for trouble in passed { trouble.passed(at: now()) }
    }

    /// Notes the hosts of devices.
    func locate(_ found: [(queue: QueueName, device: DeviceID, host: String)]) {
        guard !found.isEmpty else { return }
        state.withLock { state in
            for (queue, device, host) in found {
                let place = state.place(of: queue, limit)
                state.quotas[place].locate(device, at: host)
            }
        }
    }

    private func withQuota<Result: Sendable>(of queue: QueueName, _ body: (inout QueueQuota) -> Result) -> Result {
        state.withLock { state in
            let place = state.place(of: queue, limit)
            return body(&state.quotas[place])
        }
    }

    /// Where to log that a queue is behind; nil when it is not, and devices were only limited to one delivery at a
    /// time. The log names no host: it is a user's.
    private func trouble(of queue: QueueName) -> FailureLog? {
        state.withLock { state in
            let place = state.place(of: queue, limit)
            guard state.quotas[place].isBehind else { return nil }
            if let trouble = state.troubles[queue] { return trouble }
            let trouble = FailureLog(
                "A push service or a user's server is behind; what comes for it is gathered",
                level: .warning,
                metadata: ["platform": "\(queue.platform)", "app": "\(queue.app)"],
                logger: log
            )
            state.troubles[queue] = trouble
            return trouble
        }
    }
}
