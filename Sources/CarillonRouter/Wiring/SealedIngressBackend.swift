import Delivery
import Listening
import Logging
import Notifications
import Operations
import RateLimits
import Registry
import RouterConfiguration
import Synchronization
import Units
import WebIngress

/// What stands behind the sealed ingress: the registry's table of its devices, and the outbox.
final class SealedIngressBackend: IngressBackend {
    /// The app and the platform whose devices it serves.
    private let queue: QueueName
    private let limits: IngressDeviceLimits
    private let registry: Registry
    private let courier: Courier
    private let trials: TokenTrials
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    /// A disk that refuses refuses every batch.
    private let lines: Mutex<TokenBucket>

    init(
        queue: QueueName,
        limits: IngressDeviceLimits,
        registry: Registry,
        courier: Courier,
        trials: TokenTrials,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.queue = queue
        self.limits = limits
        self.registry = registry
        self.courier = courier
        self.trials = trials
        self.now = now
        self.logger = logger
        lines = Mutex(TokenBucket(capacity: 3, perSecond: 0.1, now: now()))
    }

    func keep(_ pushes: [IngressPush]) -> [IngressAnswer] {
        let trusted = pushes.filter { !trials.isMistrusted($0.client) }
        guard trusted.count < pushes.count else { return keepAll(pushes) }
        var answers = keepAll(trusted).makeIterator()
        return pushes.map { trials.isMistrusted($0.client) ? .mistrusted : answers.next() ?? .busy }
    }

    private func keepAll(_ pushes: [IngressPush]) -> [IngressAnswer] {
        let room = courier.isFull ? 0 : courier.capacity.capacityForCallers(of: queue)
        // Whoever can come again leaves half of the queue's share to events, whose senders cannot.
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
                logger.error("Push messages cannot be kept", metadata: ["error": "\(error)"])
            }
            return pushes.map { _ in .busy } + busy
        }
    }
}

extension SealedIngressBackend {
    /// Nil: the configuration has no sealed ingress.
    convenience init?(
        _ configuration: Configuration,
        _ platform: IngressPlatform,
        registry: Registry,
        courier: Courier,
        trials: TokenTrials,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        guard let settings = configuration.sealedIngress else { return nil }
        self.init(
            queue: QueueName(platform: platform.name, app: settings.app),
            limits: IngressDeviceLimits(devices: settings.devices),
            registry: registry,
            courier: courier,
            trials: trials,
            now: now,
            logger: logger
        )
    }
}

extension IngressAdmission {
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
    /// The platform of the sealed ingress; nil where there is none. Where no plugin can serve it the router goes
    /// without, unless there is nothing else.
    func servedIngress(_ platforms: KnownPlatforms, _ logger: Logger) throws -> IngressPlatform? {
        do {
            return try ingressPlatform(platforms.catalog).flatMap { IngressPlatform($0, in: platforms.catalog) }
        } catch {
            if isOfEnvironment { throw error }
            logger.error("The sealed ingress cannot start", metadata: ["reason": "\(error)"])
            return nil
        }
    }
}
