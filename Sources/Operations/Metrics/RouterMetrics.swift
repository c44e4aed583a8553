import Console
import Core
import Delivery
import HTTPClient
import Listeners
import Observability
import Pipeline
import PluginHost
import Relays
import RouterConfiguration

/// Collects a running router's metrics for `/metrics` of the API.
///
/// The metrics include rejected work: connections, messages and requests by exceeded limit (``LimitCounts``), pushes
/// that filters suppressed, and lost trace entries.
package struct RouterMetrics: Sendable {
    private let incoming: IncomingParts
    private let outgoing: OutgoingParts
    private let filterNames: @Sendable () -> [String]
    /// `nil` if tracing is off.
    private let trace: TraceStore?
    /// `nil` if no spans are exported.
    private let tracer: Tracer?
    private let member: @Sendable () -> MemberFigures?

    package init(
        _ health: RouterHealth,
        filterNames: @escaping @Sendable () -> [String],
        trace: TraceStore?,
        tracer: Tracer? = nil,
        member: @escaping @Sendable () -> MemberFigures? = { nil }
    ) {
        (incoming, outgoing) = (health.incoming, health.outgoing)
        (self.filterNames, self.trace, self.tracer, self.member) = (filterNames, trace, tracer, member)
    }

    /// Returns all metrics at this moment.
    package func families() async -> [MetricFamily] {
        let member = member()
        let (counts, outbox, transports) = (incoming.counts, outgoing.outbox, outgoing.transports)
        var families = [
            MetricFamily.gauge("carillon_build_info", "The version of Carillon.", of: [Version.current]) {
                $0.add(1, ["version": $1])
            }
        ]
        families += counts.families
        families.append(counts.filters(filterNames()))
        families += traceFamilies
        families += incoming.listeners.families
        families += MetricFamily.queues(outgoing.courier.status)
        families += member?.families ?? []
        families += [
            .gauge("carillon_outbox_deliveries", "Deliveries on disk not yet completed.", outbox.count),
            .gauge("carillon_outbox_deliveries_limit", "Maximum of deliveries on disk.", outbox.limit),
            .gauge(
                "carillon_dead_letters",
                "Dead letters, kept for carillon queue.",
                outbox.deadLetterCount + (member?.failed ?? 0)
            ),
        ]
        let devices = await incoming.keys.devicesByState() ?? []
        let (backlog, gauges) = (incoming.intake.backlog, incoming.pipeline.gauges)
        families += [
            .gauge("carillon_registered_devices", "Devices by the router's key in their registration.", of: devices) {
                $0.add($1.devices, ["key": $1.state])
            },
            .gauge("carillon_intake_events", "Events that wait for the pipeline.", backlog.events),
            .gauge("carillon_intake_bytes", "Size of these events in bytes.", backlog.bytes),
            .gauge("carillon_intake_events_limit", "Maximum of waiting events; more are rejected.", backlog.limit),
            .gauge("carillon_held_devices", "Devices with held pushes.", gauges.waitingDevices),
            .gauge(
                "carillon_events_waiting_for_context",
                "Events that wait for a name or a note.",
                gauges.waitingEvents
            ),
        ]
        families.append(MetricFamily.relays(incoming.pool.status))
        families += MetricFamily.behavior(incoming.pool.behavior)
        families += MetricFamily.lanes(await outgoing.lanes.snapshot())
        families += MetricFamily.requests(transports.requests)
        families += MetricFamily.streams(transports.streams)
        families.append(MetricFamily.plugins(transports.current.all.mapValues(\.statistics)))
        families += MetricFamily.processes(outgoing.plugins.processReports)
        families.append(transports.statuses.family)
        families += ProcessFigures.current.families
        guard let member else { return families }
        return families.map { $0.labelled("member", member.name) }
    }

    private var traceFamilies: [MetricFamily] {
        let lost = MetricFamily.counter(
            "carillon_trace_lost_total",
            "Lost trace entries: disk too slow, disk error, or too many from unknown keys.",
            of: [trace?.shed].compactMap(\.self)
        ) { $0.add($1) }
        guard let tracer else { return [lost] }
        let spans = MetricFamily.counter(
            "carillon_tracing_spans_total",
            "Spans for the collector: sent, dropped (buffer full or no response), or rejected.",
            of: tracer.counts
        ) { $0.add($1.count, ["result": $1.result]) }
        return [lost, spans]
    }
}

/// Metrics of a cluster member.
package struct MemberFigures: Sendable {
    let name: String
    let families: [MetricFamily]
    /// Dead letters in the partitions that the member owns.
    let failed: Int

    package init(name: String, families: [MetricFamily], failed: Int) {
        (self.name, self.families, self.failed) = (name, families, failed)
    }
}

/// Client counts of our own listeners. Unconfigured listeners have no counts.
package struct ListenerCounts: Sendable {
    package let socket: LimitCounts
    package let ingress: LimitCounts?
    package let api: LimitCounts?

    package init(socket: LimitCounts, ingress: LimitCounts?, api: LimitCounts?) {
        (self.socket, self.ingress, self.api) = (socket, ingress, api)
    }

    var families: [MetricFamily] {
        let listeners = [("socket", socket), ("ingress", ingress), ("api", api)].compactMap { listener, counts in
            counts.map { (name: listener, counts: $0) }
        }
        return [
            .gauge("carillon_connections", "Open connections of the router's listeners.", of: listeners) {
                $0.add($1.counts.openConnections, ["listener": $1.name])
            },
            .counter(
                "carillon_clients_refused_total",
                "Connections, messages and requests that listeners rejected, by exceeded limit.",
                of: listeners
            ) { family, listener in
                for (limit, count) in listener.counts.refused.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                    family.add(count, ["listener": listener.name, "why": limit.rawValue])
                }
            },
        ]
    }
}
