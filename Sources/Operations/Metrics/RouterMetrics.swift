import Console
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
        var families = [MetricFamily.buildInfo]
        families += counts.families
        families.append(counts.filters(filterNames()))
        families.append(MetricFamily.trace(lost: trace?.shed))
        if let tracer { families.append(MetricFamily.spans(tracer.counts)) }
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
        families.append(MetricFamily.registeredDevices(await incoming.keys.devicesByState() ?? []))
        families += MetricFamily.intake(incoming.intake.backlog)
        families += MetricFamily.waiting(incoming.pipeline.gauges)
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
