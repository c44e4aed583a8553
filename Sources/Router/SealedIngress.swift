import Core
import Delivery
import Listeners
import Logging
import Operations
import Push
import Registry
import RouterConfiguration
import Synchronization
import WebIngress

/// The sealed ingress's backend: the registry's table of its devices, and the outbox.
final class SealedIngressBackend: Sendable {
    let platform: IngressPlatform
    /// The app and the platform whose devices it serves.
    private let queue: QueueName
    private let limits: IngressDeviceLimits
    private let registry: Registry
    private let courier: Courier
    private let trials: TokenTrials
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    /// Limits log lines: a disk that rejects writes fails every batch.
    private let lines: Mutex<TokenBucket>

    /// Returns nil if the configuration has no sealed ingress.
    init?(
        _ environment: RouterEnvironment,
        _ platform: IngressPlatform,
        registry: Registry,
        courier: Courier,
        trials: TokenTrials
    ) {
        guard let settings = environment.configuration.sealedIngress else { return nil }
        self.platform = platform
        queue = QueueName(platform: platform.name, app: settings.app)
        limits = IngressDeviceLimits(devices: settings.devices)
        (self.registry, self.courier, self.trials) = (registry, courier, trials)
        (now, logger) = (environment.now, environment.logger)
        lines = Mutex(TokenBucket(capacity: 3, perSecond: 0.1, now: environment.now()))
    }

    @Sendable func keep(_ pushes: [IngressPush]) -> [IngressAnswer] {
        let trusted = pushes.filter { !trials.isMistrusted($0.client) }
        guard trusted.count < pushes.count else { return keepAll(pushes) }
        var answers = keepAll(trusted).makeIterator()
        return pushes.map { trials.isMistrusted($0.client) ? .mistrusted : answers.next() ?? .busy }
    }

    private func keepAll(_ pushes: [IngressPush]) -> [IngressAnswer] {
        let room = courier.isFull ? 0 : courier.capacity.capacityForCallers(of: queue)
        // Push senders can retry, so half of the queue's capacity is reserved for events, whose senders cannot.
        let busy = [IngressAnswer](repeating: .busy, count: max(0, pushes.count - room))
        let pushes = pushes.prefix(room)
        guard !pushes.isEmpty else { return busy }
        do {
            let admissions = try registry.admit(
                pushes.map {
                    IngressToken(
                        token: $0.deviceToken,
                        isSandbox: $0.isSandbox,
                        app: queue.app,
                        platform: queue.platform
                    )
                },
                limits: limits
            )
            let now = now()
            let deliveries = zip(pushes, admissions).compactMap { push, admission -> Delivery? in
                guard case .admitted(let device) = admission else { return nil }
                return Delivery(
                    id: DeliveryIDs.fresh(),
                    device: device,
                    platform: queue.platform,
                    app: queue.app,
                    notification: push.notification,
                    acceptedAt: now
                )
            }
            let unproven = try registry.unproven(among: deliveries.map(\.device))
            for case (let push, .admitted(let device)) in zip(pushes, admissions) where unproven.contains(device) {
                trials.begin(device, by: push.client)
            }
            if !deliveries.isEmpty { try courier.accept(deliveries) }
            return admissions.map(\.answer) + busy
        } catch {
            if lines.withLock({ $0.take(at: now()) }) {
                logger.error("Failed to store push messages", metadata: ["error": "\(error)"])
            }
            return pushes.map { _ in .busy } + busy
        }
    }
}

extension IngressDecision {
    fileprivate var answer: IngressAnswer {
        switch self {
        case .admitted: .queued
        case .gone: .gone
        case .invalid: .unknownDevice
        case .full: .busy
        }
    }
}

extension Configuration {
    /// The platform of the sealed ingress; nil if there is none. If no plugin can serve it, the router runs without it,
    /// unless it has no other platform.
    func servedIngress(_ platforms: KnownPlatforms, _ logger: Logger) throws -> IngressPlatform? {
        do {
            let platform = try sealedIngress?.platform(in: self, platforms.catalog)
            return platform.flatMap { IngressPlatform($0, in: platforms.catalog) }
        } catch {
            if environment != nil { throw error }
            logger.error("Failed to start the sealed ingress", metadata: ["reason": "\(error)"])
            return nil
        }
    }
}

/// Tracks clients of the sealed ingress that bring device tokens which the push service rejects: clients that invent
/// tokens lose their allowance for a while. Each new token counts once, for the client that brought it first.
struct RejectedTokenTable: Sendable {
    private struct Record: Sendable {
        var since: Timestamp
        var taken = 0
        var refused = 0
    }

    /// How long a client's results count.
    private static let memory: Duration = .hours(1)
    /// A client may bring up to this many rejected tokens, whatever their share.
    private static let tolerated = 20
    private static let capacity = 100_000

    private var clients: [ClientAddress: Record] = [:]
    private var trials: [DeviceID: ClientAddress] = [:]

    /// Whether most of the new tokens that `client` brought within the hour were rejected.
    func isMistrusted(_ client: ClientAddress, now: Timestamp) -> Bool {
        guard let record = clients[client], isRecent(record, now: now) else { return false }
        return record.refused > Self.tolerated && record.refused > record.taken
    }

    /// Records that `client` brought a push for a device with a new, untested token.
    mutating func begin(_ device: DeviceID, by client: ClientAddress) {
        guard trials[device] == nil else { return }
        if trials.count >= Self.capacity { trials.removeAll(keepingCapacity: true) }
        trials[device] = client
    }

    /// Records the result for a device's token: accepted, rejected, or nil if the push service reported neither.
    mutating func end(_ device: DeviceID, isTaken: Bool?, now: Timestamp) {
        guard let client = trials.removeValue(forKey: device), let isTaken else { return }
        if clients.count >= Self.capacity, clients[client] == nil { forgetOld(now: now) }
        var record = clients[client] ?? Record(since: now)
        if !isRecent(record, now: now) { record = Record(since: now) }
        record.taken += isTaken ? 1 : 0
        record.refused += isTaken ? 0 : 1
        clients[client] = record
    }

    private mutating func forgetOld(now: Timestamp) {
        clients = clients.filter { isRecent($0.value, now: now) }
        if clients.count >= Self.capacity { clients.removeAll(keepingCapacity: true) }
    }

    /// Whether a record still counts. If the clock was set back, it does not, so that clients need not wait longer.
    private func isRecent(_ record: Record, now: Timestamp) -> Bool {
        now >= record.since && now - record.since < Self.memory
    }
}

/// A ``RejectedTokenTable`` that learns from delivery results.
final class TokenTrials: DeliveryObserver {
    private let book = Mutex(RejectedTokenTable())
    private let now: @Sendable () -> Timestamp

    init(now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    /// Whether to distrust a client. An address of this machine may be a proxy for many clients, so it is always
    /// trusted.
    func isMistrusted(_ client: ClientAddress?) -> Bool {
        guard let client, !client.isLoopback else { return false }
        return book.withLock { $0.isMistrusted(client, now: now()) }
    }

    func begin(_ device: DeviceID, by client: ClientAddress?) {
        guard let client, !client.isLoopback else { return }
        book.withLock { $0.begin(device, by: client) }
    }

    func deliveriesReported(_ reports: [DeliveryReport]) {
        let ends = reports.filter { $0.device.rawValue < 0 && $0.kind.isFinal }
        guard !ends.isEmpty else { return }
        let now = now()
        book.withLock { book in
            for report in ends { book.end(report.device, isTaken: report.isTokenTaken, now: now) }
        }
    }
}

extension DeliveryReport {
    /// Whether the push service accepted the token; nil: unknown, or the token was valid once (410).
    fileprivate var isTokenTaken: Bool? {
        switch kind {
        case .delivered: true
        case .gone where status == 410: nil
        case .gone, .rejected: false
        default: nil
        }
    }
}
