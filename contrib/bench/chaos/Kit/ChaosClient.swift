import CarillonLab
import Core
import Delivery
import Dispatch
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import PluginHost
import Push
import Synchronization

/// Our side of a run, connected as in the router.
final class ChaosClient {
    let journal: JournalKeeper
    let directory: RegisteredPopulation
    private let courier: Courier
    private let host: PluginHost
    private let instances: [QueueName: TransportInstance]
    private let lanes: HTTPLanes
    private let group: MultiThreadedEventLoopGroup

    init(_ run: ChaosRun, _ population: Population, lab: Lab, outbox: String, clock: FastClock) throws {
        let plan = run.plan
        let addresses = try population.devices.map { ($0.id, try $0.address(at: lab)) }
        directory = RegisteredPopulation(Dictionary(uniqueKeysWithValues: addresses))
        journal = JournalKeeper(population)
        group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        lanes = try HTTPLanes(configuration: Self.lanes(lab), group: group, logger: run.log)
        host = try run.plugins.load(run.log)
        let sender = NumberedSender(
            lanes: lanes,
            journal: journal,
            devices: Dictionary(uniqueKeysWithValues: population.devices.map { ($0.target, $0.id) }),
            timeout: plan.requestTimeout
        )
        var instances: [QueueName: TransportInstance] = [:]
        for transport in plan.transports {
            let queue = QueueName(platform: transport.platform, app: Population.app)
            let instance = try host.makeTransport(
                platform: transport.platform,
                app: Population.app,
                configuration: try Self.configuration(of: transport, lab),
                settings: InstanceSettings(sender: sender, log: run.log)
            )
            instances[queue] = instance
        }
        for (device, address) in addresses {
            let queue = QueueName(platform: address.platform, app: address.app)
            do {
                try instances[queue]?.validate(address)
            } catch {
                throw ChaosError("device \(device.rawValue) cannot register: \(error)")
            }
        }
        let transports = instances
        self.instances = instances
        courier = try Courier(
            CourierEnvironment(
                store: Outbox(path: outbox),
                directory: directory,
                observer: journal,
                now: { clock.now },
                alarm: FastAlarm(clock: clock, speed: plan.haste),
                random: SplitMix64(seed: plan.seed, for: "retries"),
                host: { URLParts($0.token)?.origin.host },
                transport: { [journal] queue in
                    transports[queue].map { JournalledTransport(instance: $0, journal: journal, haste: plan.haste) }
                }
            ),
            limits: CourierLimits(inFlight: plan.inFlight),
            policy: RetryPolicy(cap: .minutes(2), lifetime: .days(30)),
            log: run.log
        )
    }

    func start() { courier.start() }

    func accept(_ deliveries: [Delivery]) throws { try courier.accept(deliveries) }

    /// Must be called at least four times per second.
    func expireDeadlines() { host.expireDeadlines() }

    /// The plugins' violations of the ABI's rules, one per line.
    var pluginMistakes: [String] {
        instances.compactMap { queue, instance in
            let statistics = instance.statistics
            return statistics == TransportStatistics() ? nil : "\(queue.platform): \(statistics)"
        }
    }

    func shutDown(now: Timestamp) async {
        await courier.shutdown(deadline: now + .hours(24))
        await host.shutDown(within: .seconds(10))
        await lanes.shutdown()
        try? await group.shutdownGracefully()
    }

    /// Waits of seconds become waits of a fraction.
    private static func lanes(_ lab: Lab) -> HTTPLanes.Configuration {
        var settings = ConnectionSettings()
        settings.backoffStart = .milliseconds(10)
        settings.backoffLimit = .milliseconds(200)
        settings.doubtAfterSilence = .seconds(1)
        return HTTPLanes.Configuration(
            caFile: lab.addresses.caFile,
            allowPrivate: ["127.0.0.0/8", "::1/128"],
            lanes: settings
        )
    }

    private static func configuration(of transport: ChaosTransport, _ lab: Lab) throws -> String {
        let block: JSONValue
        switch transport {
        case .apns:
            block = .object([
                "topic": .string(lab.credentials.topic), "team_id": .string(lab.credentials.teamID),
                "key_id": .string(lab.credentials.keyID), "key": .string(lab.credentials.keyPEM),
                "base_url": .string(lab.apnsURL),
            ])
        case .fcm:
            guard let fcm = lab.addresses.fcm else { throw ChaosError("the lab plays no FCM") }
            block = .object([
                "service_account": .string(fcm.serviceAccountFile), "base_url": .string(fcm.url),
            ])
        case .webPush:
            guard let vapid = lab.vapid else { throw ChaosError("the lab plays no Web Push") }
            block = .object(["vapid_key": .string(vapid.keyPEM), "subject": .string("mailto:chaos@example.com")])
        case .unifiedPush: block = .object([:])
        }
        return block.prettyPrinted
    }
}

/// The registry of a run: devices leave it when their push service reports them as gone.
final class RegisteredPopulation: DeviceDirectory {
    private let addresses: Mutex<[DeviceID: DeviceAddress]>

    init(_ addresses: [DeviceID: DeviceAddress]) {
        self.addresses = Mutex(addresses)
    }

    func address(of device: DeviceID) -> DeviceAddress? { addresses.withLock { $0[device] } }

    func removeGone(_ device: DeviceID, registeredAt: Timestamp) {
        addresses.withLock { addresses in
            guard let known = addresses[device], known.registeredAt <= registeredAt else { return }
            addresses[device] = nil
        }
    }

    /// The remaining devices.
    var devices: Set<DeviceID> { addresses.withLock { Set($0.keys) } }
}

/// A clock that runs `speed` times as fast as the real one, from the present time on, and never back.
package struct FastClock: Sendable {
    private let speed: Int64
    private let start: Timestamp
    private let startedAt = ContinuousClock.now

    package init(speed: Int64, start: Timestamp) {
        self.speed = speed
        self.start = start
    }

    package var now: Timestamp {
        start + (ContinuousClock.now - startedAt) * speed
    }
}

/// Rings by a fast clock.
struct FastAlarm: Alarm {
    let clock: FastClock
    let speed: Int64

    func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void) {
        let wait = max(.zero, time - clock.now) / speed + .milliseconds(1)
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .milliseconds(Int(min(wait, .minutes(1)).milliseconds)),
            execute: action
        )
    }
}
