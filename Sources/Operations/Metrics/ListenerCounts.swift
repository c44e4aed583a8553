import Console
import Listening
import RelayServer
import RouterConfiguration
import WebIngress

/// The clients of our own listeners, counted. A listener that the configuration does not have has no counts.
package struct ListenerCounts: Sendable {
    package let socket = DoorCounts(RelayServer.clientLimits)
    package let ingress: DoorCounts?
    package let api: DoorCounts?

    package init(_ configuration: Configuration) {
        ingress = configuration.sealedIngress.map { _ in DoorCounts(WebIngress.clientLimits) }
        api = configuration.api.map { _ in DoorCounts(ConsoleServer.clientLimits) }
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
