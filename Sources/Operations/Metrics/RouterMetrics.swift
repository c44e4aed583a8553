import Console
import Delivery
import EventTrace
import HTTPLanes
import Listening
import Pipeline
import PluginHost
import PluginIsolation
import RelayPool
import RelayServer
import RouterConfiguration
import Telemetry
import WebIngress

/// The parts of a running router whose figures the API's `/metrics` shows.
///
/// What was shed is among them: connections, messages and requests of clients by the limit that they met
/// (``LimitCounts``), what each filter suppressed for devices, and entries that the trace lost.
package struct RouterMetrics: Sendable {
    private let counts: RouterCounts
    private let listeners: ListenerCounts
    private let filterNames: @Sendable () -> [String]
    private let pipeline: PipelineThread
    private let intake: Intake
    private let courier: Courier
    private let outbox: Outbox
    private let keyCensus: KeyCensus
    private let transports: ActiveTransports
    private let pluginProcesses: @Sendable () -> [PluginProcessReport]
    private let pool: RelayPool
    private let lanes: HTTPLanes
    /// Nil: nothing is traced.
    private let trace: TraceStore?
    /// Nil: no spans are exported.
    private let tracer: Tracer?
    private let cluster: @Sendable () -> ClusterStatus?
    private let failedInPartitions: @Sendable () -> Int

    package init(
        counts: RouterCounts,
        listeners: ListenerCounts,
        filterNames: @escaping @Sendable () -> [String],
        pipeline: PipelineThread,
        intake: Intake,
        courier: Courier,
        outbox: Outbox,
        keyCensus: KeyCensus,
        transports: ActiveTransports,
        pluginProcesses: @escaping @Sendable () -> [PluginProcessReport],
        pool: RelayPool,
        lanes: HTTPLanes,
        trace: TraceStore?,
        tracer: Tracer? = nil,
        cluster: @escaping @Sendable () -> ClusterStatus? = { nil },
        failedInPartitions: @escaping @Sendable () -> Int = { 0 }
    ) {
        self.counts = counts
        self.listeners = listeners
        self.filterNames = filterNames
        self.pipeline = pipeline
        self.intake = intake
        self.courier = courier
        self.outbox = outbox
        self.keyCensus = keyCensus
        self.transports = transports
        self.pluginProcesses = pluginProcesses
        self.pool = pool
        self.lanes = lanes
        self.trace = trace
        self.tracer = tracer
        self.cluster = cluster
        self.failedInPartitions = failedInPartitions
    }

    /// Everything that there is to count, at this moment.
    package func families() async -> [MetricFamily] {
        let status = cluster()
        var families = [MetricFamily.buildInfo]
        families += counts.families
        families.append(counts.filters(filterNames()))
        families.append(MetricFamily.trace(lost: trace?.shed))
        if let tracer { families.append(MetricFamily.spans(tracer.counts)) }
        families += listeners.families
        families += MetricFamily.queues(courier.status)
        families += MetricFamily.cluster(status)
        families += MetricFamily.outbox(rows: outbox.count, limit: outbox.limit)
        families.append(MetricFamily.deadLetters(outbox.deadLetterCount + failedInPartitions()))
        families.append(MetricFamily.registeredDevices(await keyCensus.devicesByState() ?? []))
        families += MetricFamily.intake(intake.backlog)
        families += MetricFamily.waiting(pipeline.gauges)
        families.append(MetricFamily.relays(pool.status))
        families += MetricFamily.conduct(pool.conduct)
        families += MetricFamily.lanes(await lanes.snapshot())
        families += MetricFamily.requests(transports.requests)
        families += MetricFamily.streams(transports.streams)
        families.append(MetricFamily.plugins(transports.current.all.mapValues(\.statistics)))
        families += MetricFamily.processes(pluginProcesses())
        families.append(transports.statuses.family)
        families += ProcessFigures.current.families
        guard let status else { return families }
        return families.map { $0.labelled("member", status.name) }
    }
}

/// The clients of our own listeners, counted. A listener that the configuration does not have has no counts.
package struct ListenerCounts: Sendable {
    package let socket = LimitCounts(RelayServer.clientLimits)
    package let ingress: LimitCounts?
    package let api: LimitCounts?

    package init(_ configuration: Configuration) {
        ingress = configuration.sealedIngress.map { _ in LimitCounts(WebIngress.clientLimits) }
        api = configuration.api.map { _ in LimitCounts(ConsoleServer.clientLimits) }
    }

    var families: [MetricFamily] {
        var connections = MetricFamily("carillon_connections", .gauge, "Connections open at our own doors.")
        var refusals = MetricFamily(
            "carillon_clients_refused_total",
            .counter,
            "Connections, messages and requests of clients that were refused at our own doors, by the limit they met."
        )
        for case (let door, let counts?) in [("socket", socket), ("ingress", ingress), ("api", api)] {
            connections.add(counts.openConnections, ["door": door])
            for (limit, count) in counts.refused.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                refusals.add(count, ["door": door, "why": limit.rawValue])
            }
        }
        return [connections, refusals]
    }
}
