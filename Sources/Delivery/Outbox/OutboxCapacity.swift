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
        var quotas: [QueueName: QueueQuota] = [:]
        var troubles: [QueueName: FailureLog] = [:]

        /// Takes the quota of `queue` out, and puts the one of `name` back: what comes in a batch is mostly of one
        /// queue, whose name is two texts to hash.
        mutating func select(_ queue: QueueName, _ name: inout QueueName?, _ quota: inout QueueQuota, _ limit: Int) {
            guard queue != name else { return }
            if let name { quotas[name] = quota }
            quota = quotas.removeValue(forKey: queue) ?? QueueQuota(of: limit)
            name = queue
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
            for queue in state.quotas.keys { state.quotas[queue]?.settle() }
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
            var (name, quota): (QueueName?, QueueQuota) = (nil, QueueQuota(of: limit))
            for stored in deliveries {
                state.select(stored.delivery.queue, &name, &quota, limit)
                quota.add(for: stored.delivery.device)
            }
            if let name { state.quotas[name] = quota }
        }
    }

    /// Releases the places of deliveries that ended.
    func remove(_ reports: [DeliveryReport]) {
        let passed = state.withLock { state in
            var passed: [FailureLog] = []
            var (name, quota): (QueueName?, QueueQuota) = (nil, QueueQuota(of: limit))
            for report in reports where report.kind.isFinal {
                state.select(report.queue, &name, &quota, limit)
                let wasBehind = quota.isBehind
                quota.remove(for: report.device)
                guard wasBehind, !quota.isBehind else { continue }
                if let trouble = state.troubles[report.queue] { passed.append(trouble) }
            }
            if let name { state.quotas[name] = quota }
            return passed
        }
        for trouble in passed { trouble.passed(at: now()) }
    }

    /// Notes the hosts of devices.
    func locate(_ found: [(queue: QueueName, device: DeviceID, host: String)]) {
        guard !found.isEmpty else { return }
        state.withLock { state in
            for (queue, device, host) in found { state.quotas[queue]?.locate(device, at: host) }
        }
    }

    private func withQuota<Result: Sendable>(of queue: QueueName, _ body: (inout QueueQuota) -> Result) -> Result {
        state.withLock { body(&$0.quotas[queue, default: QueueQuota(of: limit)]) }
    }

    /// Where to log that a queue is behind; nil when it is not, and devices were only limited to one delivery at a
    /// time. The log names no host: it is a user's.
    private func trouble(of queue: QueueName) -> FailureLog? {
        state.withLock { state in
            guard state.quotas[queue]?.isBehind == true else { return nil }
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
