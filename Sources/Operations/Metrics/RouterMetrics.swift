import Console
import Delivery
import EventTrace
import HTTPLanes
import Pipeline
import PluginHost
import RelayPool

/// The parts of a running router whose figures the API's `/metrics` shows.
package struct RouterMetrics: Sendable {
    private let counts: RouterCounts
    private let listeners: ListenerCounts
    private let filterNames: @Sendable () -> [String]
    private let pipeline: PipelineThread
    private let intake: Intake
    private let courier: Courier
    private let outbox: Outbox
    private let transports: ActiveTransports
    private let pool: RelayPool
    private let lanes: HTTPLanes
    /// Nil: nothing is traced.
    private let trace: TraceStore?

    package init(
        counts: RouterCounts,
        listeners: ListenerCounts,
        filterNames: @escaping @Sendable () -> [String],
        pipeline: PipelineThread,
        intake: Intake,
        courier: Courier,
        outbox: Outbox,
        transports: ActiveTransports,
        pool: RelayPool,
        lanes: HTTPLanes,
        trace: TraceStore?
    ) {
        self.counts = counts
        self.listeners = listeners
        self.filterNames = filterNames
        self.pipeline = pipeline
        self.intake = intake
        self.courier = courier
        self.outbox = outbox
        self.transports = transports
        self.pool = pool
        self.lanes = lanes
        self.trace = trace
    }

    /// Everything that there is to count, at this moment.
    package func families() async -> [MetricFamily] {
        var families = [MetricFamily.buildInfo]
        families += counts.families
        families.append(counts.filters(filterNames()))
        families.append(MetricFamily.trace(lost: trace?.shed))
        families += listeners.families
        families += MetricFamily.queues(courier.status)
        families += MetricFamily.outbox(rows: outbox.count, limit: outbox.limit)
        families += MetricFamily.intake(intake.backlog)
        families += MetricFamily.waiting(pipeline.gauges)
        families.append(MetricFamily.relays(pool.status))
        families += MetricFamily.lanes(await lanes.snapshot())
        families += MetricFamily.requests(transports.requests)
        families.append(MetricFamily.plugins(transports.current.all.mapValues(\.statistics)))
        families.append(transports.statuses.family)
        families += ProcessFigures.current.families
        return families
    }
}
