import Core
import Logging
import Push
import Storage
import Synchronization

/// Whether the outbox has capacity for one more delivery. Used by one thread that makes deliveries in batches.
///
/// A delivery without capacity is not refused: the pacer holds it, even for a device without a pace. Other devices do
/// not wait for it.
package protocol DeliveryCapacity: Sendable {
    /// Reserves capacity for a delivery to a device of `queue`. Returns false if it must wait until other deliveries
    /// have ended. Reservations count until ``settle()``.
    func take(for device: DeviceID, of queue: QueueName) -> Bool

    /// Ends all reservations: their deliveries are in the outbox now, or were not made.
    func settle()
}

/// Divides the outbox's capacity among push services, and among the hosts that users choose (``QueueQuota``).
///
/// It counts by device and looks hosts up, so that no more data must be stored.
///
/// A host is only looked up when its queue holds as many deliveries as one host may have, and is recorded with each
/// attempt. At the start, the rows of the outbox are counted.
package final class OutboxCapacity: DeliveryCapacity {
    private struct State: Sendable {
        var quotas: [QueueName: QueueQuota] = [:]
        var troubles: [QueueName: ErrorLog] = [:]
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
        var decision = withQuota(of: queue) { $0.take(device) }
        if decision == .dependsOnHost {
            // This may read the disk, so it runs without the lock.
            let host = host(device)
            decision = withQuota(of: queue) { $0.take(device, at: host) }
        }
        guard decision != .taken else { return true }
        trouble(of: queue)?.occurred(at: now())
        return false
    }

    package func settle() {
        state.withLock { state in
            for name in state.quotas.keys { state.quotas[name]?.settle() }
        }
    }

    /// Returns how many more deliveries a queue accepts from callers that can try again later.
    package func capacityForCallers(of queue: QueueName) -> Int { withQuota(of: queue) { $0.capacityForCallers } }

    /// Returns the number of a queue's deliveries, and the limit.
    func usage(of queue: QueueName) -> (waiting: Int, limit: Int) { withQuota(of: queue) { ($0.count, $0.limit) } }

    /// Counts deliveries for a device that are in the outbox.
    func add(_ count: Int, for device: DeviceID, of queue: QueueName) {
        withQuota(of: queue) { $0.add(count, for: device) }
    }

    func add(_ deliveries: [StoredDelivery]) {
        state.withLock { state in
            for stored in deliveries {
                let delivery = stored.delivery
                state.quotas[delivery.queue, default: QueueQuota(of: limit)].add(for: delivery.device)
            }
        }
    }

    /// Releases the capacity of deliveries that ended.
    func remove(_ reports: [DeliveryReport]) {
        let passed = state.withLock { state in
            var passed: [ErrorLog] = []
            for report in reports where report.kind.isFinal {
                let wasBehind = state.quotas[report.queue]?.isBehind ?? false
                state.quotas[report.queue]?.remove(for: report.device)
                guard wasBehind, state.quotas[report.queue]?.isBehind == false else { continue }
                if let trouble = state.troubles[report.queue] { passed.append(trouble) }
            }
            return passed
        }
        for trouble in passed { trouble.passed(at: now()) }
    }

    /// Records the hosts of devices.
    func locate(_ found: [(queue: QueueName, device: DeviceID, host: String)]) {
        guard !found.isEmpty else { return }
        state.withLock { state in
            for (queue, device, host) in found {
                state.quotas[queue]?.locate(device, at: host)
            }
        }
    }

    private func withQuota<Result: Sendable>(of queue: QueueName, _ body: (inout QueueQuota) -> Result) -> Result {
        state.withLock { body(&$0.quotas[queue, default: QueueQuota(of: limit)]) }
    }

    /// The log for a queue that is behind; nil if its devices are only limited to one delivery at a time. The log
    /// contains no host, because a user chose it.
    private func trouble(of queue: QueueName) -> ErrorLog? {
        state.withLock { state in
            guard state.quotas[queue]?.isBehind == true else { return nil }
            if let trouble = state.troubles[queue] { return trouble }
            let trouble = ErrorLog(
                "A push service or a user's server is behind; its new events are batched",
                level: .warning,
                metadata: ["platform": "\(queue.platform)", "app": "\(queue.app)"],
                logger: log
            )
            state.troubles[queue] = trouble
            return trouble
        }
    }
}

/// Limits the deliveries that wait for one push service, so that no push service and no user's server fills the outbox.
///
/// A queue may use a part of the outbox, and a host that users chose a part of that. When a queue holds as many
/// deliveries as one host may have, each device gets one delivery at a time. Many names for one server thus do not
/// multiply its quota. It uses no lock and no log.
///
/// It counts waiting deliveries and ignores the reason. A server that takes half a minute for each push has no visible
/// problem, and delays the others as much as one that hangs.
struct QueueQuota: Sendable {
    enum Decision: Equatable, Sendable {
        case taken
        /// It must wait.
        case refused
        /// It depends on the device's host: try again with the host.
        case dependsOnHost
    }

    private struct Place: Sendable {
        var count = 0
        /// Nil if it is not known yet, or the device has none.
        var host: String?

        /// Adds to the count, and returns the host.
        mutating func add(_ added: Int) -> String? {
            count += added
            return host
        }
    }

    /// The fraction of the outbox that a queue may use is 1 / `partsOfOutbox`. If four push services hang at the same
    /// time, the outbox is full, and sources wait.
    private static let partsOfOutbox = 4
    /// The fraction of its queue's quota that a host may use is 1 / `partsOfQueue`.
    private static let partsOfQueue = 4

    /// The maximum number of deliveries.
    let limit: Int
    /// The maximum number for one host. From this many on, each device gets one delivery at a time.
    let hostLimit: Int
    /// The current number of deliveries.
    private(set) var count = 0
    private var places: [DeviceID: Place] = [:]
    private var hosts: [String: Int] = [:]
    /// The number of reservations, whose deliveries are not in the outbox yet.
    private var taken = 0
    /// The devices with a reservation and their hosts, if these matter.
    private var takers: [DeviceID: String?] = [:]
    private var takenTowards: [String: Int] = [:]
    private var isFull = false
    private var fullHosts: Set<String> = []

    /// Creates the quota of a queue in an outbox for `outbox` deliveries.
    init(of outbox: Int) {
        limit = max(1, outbox / Self.partsOfOutbox)
        hostLimit = max(1, limit / Self.partsOfQueue)
    }

    /// Whether a delivery had to wait because the quota of the queue or a host was used up, and more than half of that
    /// is still in use.
    var isBehind: Bool { isFull || !fullHosts.isEmpty }

    /// How many more deliveries are accepted from callers that can try again later: up to half of the quota, so that
    /// events keep the rest.
    var capacityForCallers: Int { max(0, max(1, limit / 2) - count) }

    /// Reserves capacity for a device, if its host does not matter.
    mutating func take(_ device: DeviceID) -> Decision {
        guard count + taken >= hostLimit else {
            taken += 1
            return .taken
        }
        guard count + taken < limit else {
            isFull = true
            return .refused
        }
        guard places[device] == nil, takers[device] == nil else {
            if let host = places[device]?.host, hosts[host, default: 0] >= hostLimit { fullHosts.insert(host) }
            return .refused
        }
        return .dependsOnHost
    }

    /// Reserves capacity for a device at `host`, or at none that users chose if nil.
    mutating func take(_ device: DeviceID, at host: String?) -> Decision {
        let decision = take(device)
        guard decision == .dependsOnHost else { return decision }
        if let host {
            guard hosts[host, default: 0] + takenTowards[host, default: 0] < hostLimit else {
                fullHosts.insert(host)
                return .refused
            }
            takenTowards[host, default: 0] += 1
        }
        takers[device] = .some(host)
        taken += 1
        return .taken
    }

    /// Ends all reservations.
    mutating func settle() {
        guard taken > 0 else { return }
        taken = 0
        takers.removeAll(keepingCapacity: true)
        takenTowards.removeAll(keepingCapacity: true)
    }

    /// Counts deliveries for a device that are in the outbox.
    mutating func add(_ added: Int = 1, for device: DeviceID) {
        count += added
        let host = places[device, default: Place(host: takers.isEmpty ? nil : takers[device] ?? nil)].add(added)
        if let host { hosts[host, default: 0] += added }
    }

    /// Uncounts a delivery for a device that left the outbox.
    mutating func remove(for device: DeviceID) {
        guard let index = places.index(forKey: device) else { return }
        count -= 1
        let host = places.values[index].add(-1)
        if places.values[index].count <= 0 { places.remove(at: index) }
        if let host { leave(host, 1) }
        if isFull, count <= limit / 2 { isFull = false }
    }

    /// Records the host of a device, and counts its deliveries there.
    mutating func locate(_ device: DeviceID, at host: String) {
        guard var place = places[device], place.host != host else { return }
        if let former = place.host { leave(former, place.count) }
        place.host = host
        places[device] = place
        hosts[host, default: 0] += place.count
    }

    private mutating func leave(_ host: String, _ number: Int) {
        let left = hosts[host, default: 0] - number
        hosts[host] = left > 0 ? left : nil
        if left <= hostLimit / 2 { fullHosts.remove(host) }
    }
}
