import Console
import Listening
import RelayServer
import WebIngress

/// What is counted at our own doors; those that the configuration does not open have none.
struct Doors: Sendable {
    let socket = DoorCounts(RelayServer.clientLimits)
    let ingress: DoorCounts?
    let api: DoorCounts?

    init(_ configuration: Configuration) {
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
