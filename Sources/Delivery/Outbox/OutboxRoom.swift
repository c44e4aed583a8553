import Logging
import Notifications
import Storage
import Synchronization

/// The outbox's room, shared out among push services and the hosts that users chose (``QueueShare``).
///
/// What waits is known by device, so that nothing more has to be on disk for it.
package final class OutboxRoom: DeliveryRoom {
    fileprivate struct State: Sendable {
        var shares: [QueueName: QueueShare] = [:]
        var troubles: [QueueName: TroubleLog] = [:]
    }

    private let limit: Int
    private let host: @Sendable (DeviceID) -> String?
    private let now: @Sendable () -> Int64
    private let log: Logger
    private let state = Mutex(State())

    /// The room of an outbox for `limit` deliveries. `host` looks up where a device is, if users choose that.
    init(
        limit: Int,
        host: @escaping @Sendable (DeviceID) -> String?,
        now: @escaping @Sendable () -> Int64,
        log: Logger
    ) {
        self.limit = limit
        self.host = host
        self.now = now
        self.log = log
    }

    package func take(for device: DeviceID, of queue: QueueName) -> Bool {
        var verdict = withShare(of: queue) { $0.take(device) }
        if verdict == .dependsOnHost {
            // May read the disk: not under the lock.
            let host = host(device)
            verdict = withShare(of: queue) { $0.take(device, at: host) }
        }
        guard verdict != .taken else { return true }
        if let trouble = state.withLock({ $0.trouble(of: queue, log) }) { trouble.occurred(at: now()) }
        return false
    }

    package func settle() {
        state.withLock { state in
            for queue in state.shares.keys { state.shares[queue]?.settle() }
        }
    }

    /// How many more a queue may take of somebody who can be asked to come again.
    package func roomForCallers(of queue: QueueName) -> Int { withShare(of: queue) { $0.roomForCallers } }

    /// What waits in a queue, and how much may.
    func usage(of queue: QueueName) -> (waiting: Int, limit: Int) { withShare(of: queue) { ($0.count, $0.limit) } }

    /// So many deliveries for a device are in the outbox.
    func add(_ count: Int, for device: DeviceID, of queue: QueueName) {
        withShare(of: queue) { $0.add(count, for: device) }
    }

    func add(_ deliveries: [Delivery]) {
        state.withLock { state in
            for delivery in deliveries {
                let queue = QueueName(platform: delivery.platform, app: delivery.app)
                state.shares[queue, default: QueueShare(of: limit)].add(for: delivery.device)
            }
        }
    }

    /// Takes note of deliveries that found their end.
    func hear(_ reports: [DeliveryReport]) {
        let passed = state.withLock { state in
            var passed: [TroubleLog] = []
            for report in reports where report.kind.isFinal {
                guard let wasBehind = state.shares[report.queue]?.isBehind else { continue }
                state.shares[report.queue]?.remove(for: report.device)
                guard wasBehind, state.shares[report.queue]?.isBehind == false else { continue }
                if let trouble = state.troubles[report.queue] { passed.append(trouble) }
            }
            return passed
        }
        for trouble in passed { trouble.passed(at: now()) }
    }

    /// Takes note of where devices are.
    func locate(_ found: [(queue: QueueName, device: DeviceID, host: String)]) {
        guard !found.isEmpty else { return }
        state.withLock { state in
            for (queue, device, host) in found { state.shares[queue]?.locate(device, at: host) }
        }
    }

    private func withShare<Result: Sendable>(of queue: QueueName, _ body: (inout QueueShare) -> Result) -> Result {
        state.withLock { body(&$0.shares[queue, default: QueueShare(of: limit)]) }
    }
}

extension OutboxRoom.State {
    /// Where to tell that a queue is behind; nil when it is not, and only devices had one delivery at a time. No host is named:
    /// it is a user's.
    fileprivate mutating func trouble(of queue: QueueName, _ log: Logger) -> TroubleLog? {
        guard shares[queue]?.isBehind == true else { return nil }
        if let trouble = troubles[queue] { return trouble }
        let trouble = TroubleLog(
            "A push service or a user's server is behind; what comes for it is gathered",
            level: .warning,
            metadata: ["platform": "\(queue.platform)", "app": "\(queue.app)"],
            logger: log
        )
        troubles[queue] = trouble
        return trouble
    }
}
