import CarillonLab
import Core
import Delivery
import Foundation
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import PluginHost
import Push

/// One run: a lab that misbehaves, and all of our code from the outbox to the sockets, connected as in the router.
///
/// The lab runs in the same process on its own event loops, to use both cores and give direct access to its record.
package struct ChaosRun {
    private static let groupOfDeliveries = 128

    let plan: ChaosPlan
    let plugins: BuiltPlugins
    let log: Logger
    /// Called from time to time with the number of ended deliveries, and their total.
    let progress: @Sendable (Int, Int) -> Void

    package init(
        _ plan: ChaosPlan,
        plugins: BuiltPlugins,
        log: Logger = Logger(label: "chaos") { _ in SwiftLogNoOpLogHandler() },
        progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
    ) {
        self.plan = plan
        self.plugins = plugins
        self.log = log
        self.progress = progress
    }

    /// Throws if the run could not start; the judge finds failures during the run.
    package func run() async throws -> ChaosRecord {
        let clock = FastClock(
            speed: plan.haste,
            start: Timestamp.now()
        )
        let population = Population(plan, now: clock.now)
        let maker = MischiefMaker(plan, population.devices)
        let lab = try await Lab.start(labConfiguration(population, maker))
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-chaos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let outbox = folder.appending(path: "outbox.sqlite").path
        let client = try ChaosClient(self, population, lab: lab, outbox: outbox, clock: clock)
        let watch = try await follow(client, population, maker)
        await client.shutDown(now: clock.now)
        var record = ChaosRecord(
            plan: plan,
            population: population,
            journal: client.journal.journal,
            arrivals: lab.received.compactMap(Arrival.init),
            registered: Set(client.directory.devices.map(\.rawValue)),
            leftInOutbox: try Outbox(path: outbox).count
        )
        record.tokenRequests = lab.received.count { $0.service == .oauth }
        record.pluginMistakes = client.pluginMistakes
        record.injected = maker.injected
        record.tokenMischiefs = maker.tokenMischiefs
        record.scripts = maker.scripts
        record.seconds = watch.seconds
        record.wasStuck = watch.wasStuck
        await lab.shutdown()
        return record
    }

    private func labConfiguration(_ population: Population, _ maker: MischiefMaker) -> LabConfiguration {
        var configuration = LabConfiguration()
        configuration.fcm = LabConfiguration.FCM()
        let key = configuration.webPush?.vapid.applicationServerKey
        for device in population.devices {
            guard let receiver = device.receiver else { continue }
            switch device.transport {
            case .unifiedPush: configuration.unifiedPush?.receivers.append(receiver)
            case .webPush:
                configuration.webPush?.subscriptions.append(
                    WebPushSubscription(receiver: receiver, applicationServerKey: key)
                )
            case .apns, .fcm: break
            }
        }
        configuration.keptRequests = 20 * plan.deliveries + 1_000
        configuration.keptBytes = 2 << 30
        configuration.randomMisbehaviour = { maker.behavior($0, $1) }
        return configuration
    }

    /// Submits all deliveries and waits until they have ended, or until the run is stuck.
    private func follow(_ client: ChaosClient, _ population: Population, _ maker: MischiefMaker) async throws -> Watch {
        var watch = Watch(plan, population)
        client.start()
        for first in stride(from: 0, to: population.deliveries.count, by: Self.groupOfDeliveries) {
            let group = population.deliveries[first..<min(first + Self.groupOfDeliveries, population.deliveries.count)]
            try client.accept(Array(group))
        }
        while !watch.isOver {
            try? await Task.sleep(for: .milliseconds(20))
            client.expireDeadlines()
            watch.look(at: client.journal.ended)
            if watch.onlyHangingIsLeft { maker.release() }
            progress(watch.ended, population.deliveries.count)
        }
        return watch
    }
}

/// The full record of a finished run, as input of the judge.
package struct ChaosRecord: Sendable {
    package var plan: ChaosPlan
    package var population: Population
    package var journal: Journal
    /// The requests that the lab saw, in order.
    package var arrivals: [Arrival]
    /// Requests to the lab's token endpoint.
    package var tokenRequests = 0
    /// Devices that are registered still.
    package var registered: Set<Int64>
    /// Deliveries in the outbox after it was opened again.
    package var leftInOutbox: Int
    /// The plugins' violations of the ABI's rules.
    package var pluginMistakes: [String] = []
    package var injected: [ChaosTransport: [Mischief: Int]] = [:]
    package var tokenMischiefs = 0
    package var scripts: [ChaosTransport: PhaseScript] = [:]
    /// From the first acceptance to the last final report, in seconds.
    package var seconds: [ChaosTransport: Double] = [:]
    /// Reports stopped while deliveries were open.
    package var wasStuck = false

    package init(
        plan: ChaosPlan,
        population: Population,
        journal: Journal,
        arrivals: [Arrival],
        registered: Set<Int64>,
        leftInOutbox: Int
    ) {
        self.plan = plan
        self.population = population
        self.journal = journal
        self.arrivals = arrivals
        self.registered = registered
        self.leftInOutbox = leftInOutbox
    }
}

/// The reason why a run could not start.
package struct ChaosError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Watches a run: when each transport ended, and whether deliveries still end.
struct Watch {
    private let plan: ChaosPlan
    private let total: Int
    private let ordered: [String: Int]
    private var open: [ChaosTransport: Int]
    private let began = ContinuousClock.now
    private var lastNews = ContinuousClock.now
    private(set) var seconds: [ChaosTransport: Double] = [:]
    private(set) var wasStuck = false

    init(_ plan: ChaosPlan, _ population: Population) {
        self.plan = plan
        total = population.deliveries.count
        let ordered = Dictionary(grouping: population.deliveries, by: \.platform).mapValues(\.count)
        open = Dictionary(uniqueKeysWithValues: plan.transports.map { ($0, ordered[$0.platform] ?? 0) })
        self.ordered = ordered
    }

    var ended: Int { total - open.values.reduce(0, +) }

    var isOver: Bool { wasStuck || open.values.allSatisfy { $0 <= 0 } }

    /// When only the transport that hangs has deliveries open.
    var onlyHangingIsLeft: Bool {
        guard case .hanging(let hanging) = plan.weather else { return false }
        return open.allSatisfy { $0.key == hanging || $0.value <= 0 }
    }

    /// `ended` is how many deliveries have ended, by platform.
    mutating func look(at ended: [String: Int]) {
        let now = ContinuousClock.now
        for transport in plan.transports {
            let left = (ordered[transport.platform] ?? 0) - (ended[transport.platform] ?? 0)
            guard left != open[transport] else { continue }
            lastNews = now
            open[transport] = left
            if left == 0 { seconds[transport] = (now - began) / .seconds(1) }
        }
        wasStuck = now - lastNews > .seconds(plan.timeout)
    }
}
